import { openDeadLetterQueues } from '../../core/aws/dead-letter-queues.ts';
import type { DeadLetterFilter } from '../../core/dead-letters/filter.ts';
import { findHandlerQueues } from '../../core/dead-letters/handler-queues.ts';
import { CommandFailure, EXIT, type ExitCode, exitCodeOf } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { confirm } from '../screen/confirm.ts';
import { interruptible } from '../screen/interrupt.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { counted } from '../screen/progress.ts';
import { print, printRows, say, sayError, suggest, warn, whisper } from '../screen/terminal.ts';
import { findSqs } from '../target/own-stack.ts';
import { withDatabase } from '../target/target.ts';
import { type EndedMove, lookAt, moveAll, type SeenQueue } from './move-tasks.ts';

interface MoveOptions extends GlobalOptions {
  readonly limit?: number;
  readonly rate?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const HIGHEST_RATE = 500;
const FROM_TABLE = 'without --via-sqs, redrive takes dead jobs from the table, wherever their messages are';

/** A redrive by SQS itself: a move task for the dead-letter queue of each handler meant. */
export async function redriveViaSqs(filter: DeadLetterFilter, options: MoveOptions): Promise<ExitCode> {
  checkOptions(filter, options);
  const { rate, json = false } = options;
  const wanted = await withDatabase(options, (db) => findHandlerQueues(db, filter));
  if (wanted.length === 0)
    throw new CommandFailure(EXIT.notFound, 'no handler is like that, so there is no queue of it');
  const queues = openDeadLetterQueues(await findSqs(options));
  try {
    const seen = await Promise.all(wanted.map((queue) => lookAt(queues, queue)));
    if (options.dryRun) preview(seen, json);
    for (const { failure } of seen) if (failure) sayError(failure.message);
    const ready = seen.filter(({ depth, failure }) => depth > 0 && failure === undefined);
    const failures = seen.flatMap(({ failure }) => failure?.exitCode ?? []);
    if (ready.length === 0) return nothingToMove(failures, options);
    if (options.dryRun) return exitCodeOf([EXIT.done, ...failures]);
    const count = ready.reduce((total, { depth }) => total + depth, 0);
    const where = counted(ready.length, 'dead-letter queue');
    if (!options.yes) await confirm(`Let SQS move ${counted(count, 'message')} out of ${where}?`, { json, count });
    const { ended, interrupted } = await interruptible(async (signal) => {
      const all = await moveAll(queues, ready, { rate, interrupted: signal });
      return { ended: all, interrupted: signal.aborted };
    });
    tell(ended, json);
    const code = report(ended, failures);
    return interrupted ? EXIT.interrupted : code;
  } finally {
    queues.close();
  }
}

function checkOptions({ jobIds, since, error, group }: DeadLetterFilter, { limit, rate }: MoveOptions): void {
  if ([jobIds, since, error, group, limit].some((part) => part !== undefined)) {
    throw new CommandFailure(
      EXIT.usage,
      'a move task takes everything in the queue: with --via-sqs only --job-type, --routing-key or --all choose',
    );
  }
  if (rate !== undefined && !(Number.isInteger(rate) && rate <= HIGHEST_RATE)) {
    throw new CommandFailure(EXIT.usage, `--rate: SQS moves a whole number of messages a second, 1 to ${HIGHEST_RATE}`);
  }
}

function preview(seen: readonly SeenQueue[], json: boolean): void {
  if (json) {
    const rows = seen.map(({ name, url, depth, failure }) => ({
      ...{ handlers: name, queue_url: url, messages: depth, refused: failure?.message ?? null },
    }));
    print(toJson({ dry_run: true, queues: rows }));
    return;
  }
  printRows(
    ['JOB', 'MESSAGES', 'QUEUE'],
    seen.map(({ name, depth, url }) => [name, depth, url]),
  );
  whisper('Nothing was done.');
}

function nothingToMove(failures: readonly ExitCode[], { json, dryRun }: MoveOptions): ExitCode {
  if (json && !dryRun) print(toJson({ moved: 0, moves: [] }));
  if (failures.length > 0) {
    if (failures.includes(EXIT.notFound)) say(FROM_TABLE);
    return exitCodeOf(failures);
  }
  throw new CommandFailure(EXIT.notFound, `there is no message in the dead-letter queues: ${FROM_TABLE}`);
}

function tell(ended: readonly EndedMove[], json: boolean): void {
  if (json) {
    const moves = ended.map(({ failure, ...move }) => snakeCase({ ...move, refused: failure?.message ?? null }));
    print(toJson({ moved: ended.reduce((total, { moved }) => total + moved, 0), moves }));
    return;
  }
  printRows(
    ['JOB', 'STATUS', 'MOVED', 'OF', 'LEFT'],
    ended.map(({ name, status, moved, toMove, left }) => [name, status, moved, toMove, left]),
  );
}

function report(ended: readonly EndedMove[], before: readonly ExitCode[]): ExitCode {
  const codes = ended.map((move): ExitCode => {
    const { name, status, failure, failureReason = '', left } = move;
    if (failure) sayError(failure.message);
    if (status === 'FAILED') sayError(`${name}: ${explain(failureReason)}`);
    if (status === 'UNKNOWN')
      sayError(`${name}: SQS does not tell how the move ended; ${counted(left, 'message')} left`);
    if (status === 'CANCELLED') say(`${name}: the move is cancelled; what was moved stays moved`);
    if (status === 'COMPLETED' && left > 0) {
      warn(`${name}: ${counted(left, 'message')} left: somebody looked at them, or they just died; run it again`);
    }
    if (failure) return failure.exitCode;
    return status === 'COMPLETED' ? EXIT.done : EXIT.failed;
  });
  suggest('npx millrace jobs list');
  return exitCodeOf([...codes, ...before]);
}

function explain(reason: string): string {
  if (!reason.includes('CouldNotDetermineMessageSource')) return `SQS gave up: ${reason}`;
  return (
    'SQS gave up at a message that was sent there by hand, since it does not know where that came from: discard it ' +
    'first (npx millrace dlq discard --stray N, by the number that npx millrace dlq list shows once the mirror has ' +
    'seen it, within a minute, and start again when it has deleted it, a minute later), or redrive without --via-sqs'
  );
}

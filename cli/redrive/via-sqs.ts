import { openDeadLetterQueues } from '../../core/aws/dead-letter-queues.ts';
import type { DeadLetterFilter } from '../../core/dead-letters/filter.ts';
import { findHandlerQueues } from '../../core/dead-letters/handler-queues.ts';
import { CommandFailure, EXIT, type ExitCode, exitCodeOf } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { confirm } from '../screen/confirm.ts';
import { interruptible } from '../screen/interrupt.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { counted } from '../screen/progress.ts';
import { print, printError, printHint, printMessage, printRows, suggest, warn } from '../screen/terminal.ts';
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
const FROM_TABLE = 'without --via-sqs, redrive moves dead jobs in the table, wherever their messages are';

/** Runs a redrive in SQS itself: a move task for the dead-letter queue of each selected handler. */
export async function redriveViaSqs(filter: DeadLetterFilter, options: MoveOptions): Promise<ExitCode> {
  checkOptions(filter, options);
  const { rate, json = false } = options;
  const wanted = await withDatabase(options, (db) => findHandlerQueues(db, filter));
  if (wanted.length === 0) throw new CommandFailure(EXIT.notFound, 'no handler matches');
  const queues = openDeadLetterQueues(await findSqs(options));
  try {
    const seen = await Promise.all(wanted.map((queue) => lookAt(queues, queue)));
    if (options.dryRun) preview(seen, json);
    for (const { failure } of seen) if (failure) printError(failure.message);
    const ready = seen.filter(({ depth, failure }) => depth > 0 && failure === undefined);
    const failures = seen.flatMap(({ failure }) => failure?.exitCode ?? []);
    if (ready.length === 0) return nothingToMove(failures, options);
    if (options.dryRun) return exitCodeOf([EXIT.done, ...failures]);
    const count = ready.reduce((total, { depth }) => total + depth, 0);
    const where = counted(ready.length, 'dead-letter queue');
    if (!options.yes) await confirm(`Make SQS move ${counted(count, 'message')} out of ${where}?`, { json, count });
    const { ended, interrupted } = await interruptible(async (signal) => {
      const all = await moveAll(queues, ready, { rate, interrupted: signal });
      return { ended: all, interrupted: signal.aborted };
    });
    printAnswer(ended, json);
    const code = report(ended, failures);
    return interrupted ? EXIT.interrupted : code;
  } finally {
    queues.close();
  }
}

function checkOptions({ jobIds, since, until, error, group }: DeadLetterFilter, { limit, rate }: MoveOptions): void {
  if ([jobIds, since, until, error, group, limit].some((part) => part !== undefined)) {
    throw new CommandFailure(
      EXIT.usage,
      'a move task moves everything in the queue: --via-sqs accepts only --job-type, --routing-key or --all',
    );
  }
  if (rate !== undefined && !(Number.isInteger(rate) && rate <= HIGHEST_RATE)) {
    throw new CommandFailure(
      EXIT.usage,
      `--rate: with --via-sqs, expected a whole number of messages per second, 1 to ${HIGHEST_RATE}`,
    );
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
    ['HANDLER', 'MESSAGES', 'QUEUE'],
    seen.map(({ name, depth, url }) => [name, depth, url]),
  );
  printHint('Nothing was moved.');
}

function nothingToMove(failures: readonly ExitCode[], { json, dryRun }: MoveOptions): ExitCode {
  if (json && !dryRun) print(toJson({ moved: 0, moves: [] }));
  if (failures.length > 0) {
    if (failures.includes(EXIT.notFound)) printMessage(FROM_TABLE);
    return exitCodeOf(failures);
  }
  throw new CommandFailure(EXIT.notFound, `the dead-letter queues are empty: ${FROM_TABLE}`);
}

function printAnswer(ended: readonly EndedMove[], json: boolean): void {
  if (json) {
    const moves = ended.map(({ failure, ...move }) => snakeCase({ ...move, refused: failure?.message ?? null }));
    print(toJson({ moved: ended.reduce((total, { moved }) => total + moved, 0), moves }));
    return;
  }
  printRows(
    ['HANDLER', 'STATUS', 'MOVED', 'OF', 'LEFT'],
    ended.map(({ name, status, moved, toMove, left }) => [name, status, moved, toMove, left]),
  );
}

function report(ended: readonly EndedMove[], before: readonly ExitCode[]): ExitCode {
  const codes = ended.map((move): ExitCode => {
    const { name, status, failure, failureReason = '', left } = move;
    if (failure) printError(failure.message);
    if (status === 'FAILED') printError(`${name}: ${explain(failureReason)}`);
    if (status === 'UNKNOWN')
      printError(`${name}: SQS does not report how the move ended; ${counted(left, 'message')} left`);
    if (status === 'CANCELLED')
      printMessage(`${name}: the move was cancelled; messages already moved are not moved back`);
    if (status === 'COMPLETED' && left > 0) {
      warn(`${name}: ${counted(left, 'message')} left, in use by a consumer or new: run the command again`);
    }
    if (failure) return failure.exitCode;
    return status === 'COMPLETED' ? EXIT.done : EXIT.failed;
  });
  suggest('npx millrace jobs list');
  return exitCodeOf([...codes, ...before]);
}

function explain(reason: string): string {
  if (!reason.includes('CouldNotDetermineMessageSource')) return `the move failed: ${reason}`;
  return (
    'SQS failed at a message that was sent to the dead-letter queue directly and has no source queue: discard it ' +
    '(npx millrace dlq discard --stray N, with the number that npx millrace dlq list shows within a minute), run ' +
    'this command again a minute later, or redrive without --via-sqs'
  );
}

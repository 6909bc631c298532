import type { Command } from 'commander';
import type { DeadLetterGroup } from '../../core/dead-letters/group-dead-letters.ts';
import type { PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { Backend } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT, type ExitCode } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import {
  addFilterOptions,
  type FilterOptions,
  pinFilter,
  requireChoice,
  shortGroup,
  toFilter,
} from '../options/filter-options.ts';
import { jobIds, strayNumber } from '../options/values.ts';
import { exportFlags } from '../redrive/filter-flags.ts';
import { type ExplainedJob, explainJobs, reportSkipped, skippedDocument } from '../redrive/named-jobs.ts';
import { confirm } from '../screen/confirm.ts';
import { interruptible } from '../screen/interrupt.ts';
import { toJson } from '../screen/json.ts';
import { counted, howFar, openProgress } from '../screen/progress.ts';
import {
  firstLine,
  print,
  printError,
  printHint,
  printMessage,
  printPairs,
  printTable,
  suggest,
  warn,
} from '../screen/terminal.ts';
import { explainNoMatch } from './similar-handlers.ts';

interface DiscardOptions extends FilterOptions {
  readonly stray?: string;
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}
type Options = DiscardOptions & GlobalOptions;

/** `millrace dlq discard` */
export function addDlqDiscard(dlq: Command): void {
  addFilterOptions(dlq.command('discard').argument('[id...]', 'job ids', jobIds))
    .description('discard dead jobs: they become cancelled and cannot be redriven')
    .option('--stray <number>', 'one message without a job (a stray), by its number in dlq list', strayNumber)
    .option('--all', 'every dead letter')
    .option('--dry-run', 'show what would be discarded, and discard nothing')
    .option('-y, --yes', 'skip the confirmation')
    .addHelpText('after', examples('dlq discard 42', "dlq discard --error 'no such user'", 'dlq discard --stray 3'))
    .action(
      action<DiscardOptions>(async (options, ids: string[] = []) => {
        const filter = toFilter(options, ids);
        const { stray, all } = options;
        if (stray !== undefined) {
          const more = all || Object.values(filter).some((part) => part !== undefined);
          if (more)
            throw new CommandFailure(EXIT.usage, '--stray selects one message: use it without ids, --all or filters');
          return withBackend(options, (backend) => discardOne(backend, stray, options));
        }
        requireChoice(filter, all);
        return withBackend(options, async (backend) => discardMany(backend, await pinFilter(backend, filter), options));
      }),
    );
}

async function discardOne(backend: Backend, stray: string, { yes, json = false, dryRun }: Options): Promise<ExitCode> {
  if (dryRun)
    throw new CommandFailure(EXIT.usage, '--dry-run does not apply to --stray: use npx millrace dlq show --stray');
  if (!yes) await confirm(`Discard stray ${stray}?`, { json });
  if (!(await backend.discardStray(stray)))
    throw new CommandFailure(EXIT.notFound, `stray ${stray} does not exist or is no longer open`);
  printAnswer({ discarded: 1, left: [], skipped: [] }, json);
  warn('the mirror deletes its message within a minute: start a move task after that');
  return EXIT.done;
}

async function discardMany(backend: Backend, filter: PinnedFilter, options: Options): Promise<ExitCode> {
  const { json = false } = options;
  const { count, untilId } = await backend.countDeadLetters(filter);
  const skipped = await findSkipped(backend, filter);
  if (count === 0) {
    if (json) print(toJson({ discarded: 0, left: [], skipped: skippedDocument(skipped) }));
    if (filter.jobIds === undefined) {
      const reason = await explainNoMatch(backend, filter.jobTypes);
      throw new CommandFailure(EXIT.notFound, `no dead letter matches${reason}`);
    }
    return reportSkipped(skipped, 0);
  }
  if (options.dryRun) {
    preview(count, await backend.groupDeadLetters(filter, 50), json);
    suggestExport(filter);
    return reportSkipped(skipped, count);
  }
  if (!options.yes) {
    suggestExport(filter);
    await confirm(`Permanently discard ${counted(count, 'dead letter')}?`, { json, count });
  }
  const { discarded, left, stopped } = await interruptible((signal) =>
    discardAll(backend, { filter, untilId, count, signal }),
  );
  const leftJobs = await explainJobs(backend, left);
  printAnswer({ discarded, left: leftJobs, skipped }, json);
  for (const { id } of leftJobs) printError(`job ${id} is locked by another transaction and was not discarded`);
  if (stopped) {
    printError(`interrupted: discarded ${discarded} of ${counted(count, 'dead letter')}; these cannot be restored`);
    return EXIT.interrupted;
  }
  const code = reportSkipped(skipped, discarded);
  return left.length > 0 ? EXIT.failed : code;
}

/** Returns the named jobs that do not match. */
async function findSkipped(backend: Backend, filter: PinnedFilter): Promise<ExplainedJob[]> {
  const { jobIds: ids = [] } = filter;
  if (ids.length === 0) return [];
  const found = new Set((await backend.listDeadLetters(filter, ids.length)).map((letter) => letter.jobId));
  return explainJobs(
    backend,
    ids.filter((id) => !found.has(id)),
  );
}

interface Discarding {
  readonly filter: PinnedFilter;
  readonly untilId: string;
  readonly count: number;
  readonly signal: AbortSignal;
}

async function discardAll(backend: Backend, { filter, untilId, count, signal }: Discarding) {
  const progress = openProgress();
  const left: string[] = [];
  let discarded = 0;
  for await (const step of backend.discardDeadLetters(filter, untilId)) {
    discarded += step.discarded;
    left.push(...step.left);
    progress.show(`discarded ${howFar(discarded, count)}`);
    if (signal.aborted) break;
  }
  progress.clear();
  return { discarded, left, stopped: signal.aborted };
}

function preview(count: number, groups: readonly DeadLetterGroup[], json: boolean): void {
  const rows = groups.map((group) => ({
    ...{ group: group.fingerprint, jobs: group.jobs, handlers: group.handlers, error: group.lastError },
  }));
  if (json) {
    print(toJson({ dry_run: true, matched: count, groups: rows }));
    return;
  }
  printTable(
    ['GROUP', 'JOBS', 'HANDLER', 'ERROR'],
    rows.map(({ group, jobs, handlers, error }) => [shortGroup(group), jobs, handlers.join(', '), firstLine(error)]),
  );
  printMessage(`${counted(count, 'dead letter')} would be discarded`);
}

/** Suggests a copy before a discard, which is final. */
function suggestExport(filter: PinnedFilter): void {
  printHint(`To keep a copy, first run: npx millrace dlq export ${exportFlags(filter)} > dead.jsonl`);
}

interface Told {
  readonly discarded: number;
  readonly left: readonly ExplainedJob[];
  readonly skipped: readonly ExplainedJob[];
}

function printAnswer({ discarded, left, skipped }: Told, json: boolean): void {
  if (json) {
    print(toJson({ discarded, left: left.map(({ id }) => id), skipped: skippedDocument(skipped) }));
    return;
  }
  printPairs([
    ['discarded', discarded],
    ['left', left.length || null],
    ['skipped', skipped.length || null],
  ]);
  suggest('npx millrace dlq');
}

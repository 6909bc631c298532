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
import { type ExplainedJob, explainJobs, reportSkipped, skippedDocument } from '../redrive/named-jobs.ts';
import { confirm } from '../screen/confirm.ts';
import { interruptible } from '../screen/interrupt.ts';
import { toJson } from '../screen/json.ts';
import { counted, howFar, openProgress } from '../screen/progress.ts';
import { firstLine, print, printPairs, printRows, say, sayError, suggest, warn } from '../screen/terminal.ts';

interface DiscardOptions extends FilterOptions {
  readonly stray?: string;
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}
type Options = DiscardOptions & GlobalOptions;

/** `millrace dlq discard` */
export function addDlqDiscard(dlq: Command): void {
  addFilterOptions(dlq.command('discard').argument('[id...]', 'ids of jobs', jobIds))
    .description('give dead jobs up: they end as cancelled, and no redrive brings them back')
    .option('--stray <number>', 'one message that is nobody’s job, by the number that dlq list shows', strayNumber)
    .option('--all', 'every dead letter')
    .option('--dry-run', 'only tell what would be discarded')
    .option('-y, --yes', 'do not ask')
    .addHelpText('before', examples('dlq discard 42', "dlq discard --error 'no such user'", 'dlq discard --stray 3'))
    .action(
      action<DiscardOptions>(async (options, ids: string[] = []) => {
        const filter = toFilter(options, ids);
        const { stray, all } = options;
        if (stray !== undefined) {
          const more = all || Object.values(filter).some((part) => part !== undefined);
          if (more) throw new CommandFailure(EXIT.usage, '--stray names one message: leave the rest out');
          return withBackend(options, (backend) => discardOne(backend, stray, options));
        }
        requireChoice(filter, all);
        return withBackend(options, async (backend) => discardMany(backend, await pinFilter(backend, filter), options));
      }),
    );
}

async function discardOne(backend: Backend, stray: string, { yes, json = false, dryRun }: Options): Promise<ExitCode> {
  if (dryRun) throw new CommandFailure(EXIT.usage, '--dry-run has nothing to tell about one stray: dlq show --stray');
  if (!yes) await confirm(`Discard stray ${stray}?`, { json });
  if (!(await backend.discardStray(stray))) throw new CommandFailure(EXIT.notFound, `there is no open stray ${stray}`);
  tell({ discarded: 1, left: [], skipped: [] }, json);
  warn('the mirror deletes its message within a minute: start a move task after that');
  return EXIT.done;
}

async function discardMany(backend: Backend, filter: PinnedFilter, options: Options): Promise<ExitCode> {
  const { json = false } = options;
  const { count, untilId } = await backend.countDeadLetters(filter);
  const skipped = await findSkipped(backend, filter);
  if (count === 0) {
    if (json) print(toJson({ discarded: 0, left: [], skipped: skippedDocument(skipped) }));
    if (filter.jobIds === undefined) throw new CommandFailure(EXIT.notFound, 'no dead letter is like that');
    return reportSkipped(skipped, 0);
  }
  if (options.dryRun) {
    preview(count, await backend.groupDeadLetters(filter, 50), json);
    return reportSkipped(skipped, count);
  }
  if (!options.yes) await confirm(`Discard ${counted(count, 'dead letter')} for good?`, { json, count });
  const { discarded, left, stopped } = await interruptible((signal) =>
    discardAll(backend, { filter, untilId, count, signal }),
  );
  const leftJobs = await explainJobs(backend, left);
  tell({ discarded, left: leftJobs, skipped }, json);
  for (const { id } of leftJobs) sayError(`job ${id} is being redriven by somebody else and was left`);
  if (stopped) {
    sayError(`interrupted: ${counted(discarded, 'dead letter')} of ${count} discarded, and they stay discarded`);
    return EXIT.interrupted;
  }
  const code = reportSkipped(skipped, discarded);
  return left.length > 0 ? EXIT.failed : code;
}

/** Jobs that were named and are not among what matches. */
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
  printRows(
    ['GROUP', 'JOBS', 'JOB', 'ERROR'],
    rows.map(({ group, jobs, handlers, error }) => [shortGroup(group), jobs, handlers.join(', '), firstLine(error)]),
  );
  say(`${counted(count, 'dead letter')} would be discarded`);
}

interface Told {
  readonly discarded: number;
  readonly left: readonly ExplainedJob[];
  readonly skipped: readonly ExplainedJob[];
}

function tell({ discarded, left, skipped }: Told, json: boolean): void {
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

import type { Command } from 'commander';
import { handlerName } from '../../core/handler/naming.ts';
import type { ShownAttempt } from '../../core/look/show-job.ts';
import type { SeenJob } from '../backend/backend.ts';
import { jobDocument } from '../backend/documents.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { jobId } from '../options/values.ts';
import { exactJson, indentJson, toJson } from '../screen/json.ts';
import { isTable, print, printPairs, suggest } from '../screen/terminal.ts';

/** `millrace jobs show` */
export function addJobsShow(jobs: Command): void {
  jobs
    .command('show')
    .argument('<id>', 'the job id', jobId)
    .description('show a job with its payload, its attempts and the reason it waits')
    .addHelpText('after', examples('jobs show 1', 'jobs show 1 --json'))
    .action(
      action(async (options: GlobalOptions, id: string) => {
        const shown = await withBackend(options, (backend) => backend.showJob(id));
        if (shown === undefined) {
          throw new CommandFailure(
            EXIT.notFound,
            `job ${id} does not exist; finished jobs are kept for 7 days by default`,
          );
        }
        if (options.json) print(toJson(jobDocument(shown)));
        else show(shown);
        return undefined;
      }),
    );
}

function show({ job, attempts, moreAttempts, waiting }: SeenJob): void {
  printPairs([
    ['id', job.id],
    ['handler', handlerName(job)],
    ['status', job.status],
    ['attempts', `${job.attempts} of ${job.maxAttempts}`],
    ['progress', progressLine(job.progress)],
    ['waiting', waiting],
    ['priority', job.priority],
    ['unique key', job.uniqueKey],
    ['group key', job.groupKey],
    ['created', job.createdAt],
    ['run at', job.runAt],
    ['start by', job.startBy],
    ['next retry', job.nextRetryAt],
    ['dispatched', job.dispatchedAt],
    ['started', job.startedAt],
    ['finished', job.finishedAt],
    ['last error', job.lastError === undefined ? 'not shown: the key lacks the scope jobs:read' : job.lastError],
    ['payload', job.payload === null ? 'not shown: more than 1 MiB' : shownPayload(job.payload)],
    ['result', shownPayload(job.result)],
    ...(attempts ?? []).map((attempt) => [entryName(attempt), attemptLine(attempt)] as const),
    ['older attempts', moreAttempts ? `not shown: only the newest ${attempts?.length} are` : null],
    ['stack', attempts?.[0]?.errorStacktrace],
  ]);
  suggest(suggestion(job));
}

/** Returns a line such as `40 %   8 of 20 pages   at 2026-03-01T10:00:00.000Z`. */
function progressLine(progress: SeenJob['job']['progress']): string | null {
  // Hidden from a key without jobs:read.
  if (!progress) return null;
  const { fraction, text, at } = progress;
  return [fraction === null ? '' : `${Math.floor(fraction * 100)} %`, text, `at ${at}`].filter(Boolean).join('   ');
}

/** Returns JSON over several lines on a terminal, and one line in a pipe; undefined means that it is hidden. */
export function shownPayload(payload: string | null | undefined): string | null {
  if (payload === undefined) return 'not shown: the key lacks the scope payload:read';
  if (payload === null) return null;
  return isTable() ? indentJson(payload) : toJson(exactJson(payload));
}

/** Entries of the history that do not count as an attempt. */
const OTHER_ENTRIES: Readonly<Record<string, string>> = {
  snoozed: 'snooze',
  lost: 'lost message',
  redriven: 'redrive',
  retried: 'retry',
};

/** Returns the name of an entry in the history, such as `attempt 2`, or `attempt 2/5` with the maximum. */
export function entryName({ attempt, outcome }: ShownAttempt, max?: number): string {
  return OTHER_ENTRIES[outcome] ?? (max === undefined ? `attempt ${attempt}` : `attempt ${attempt}/${max}`);
}

/** Returns the line that describes an attempt. */
export function attemptLine(attempt: ShownAttempt): string {
  const { outcome, startedAt, finishedAt, errorName, errorMessage, delaySeconds, requestId } = attempt;
  const took = startedAt === null ? '' : ` after ${finishedAt.getTime() - startedAt.getTime()} ms`;
  const error = [errorName, errorMessage].filter(Boolean).join(': ');
  const next = delaySeconds === null ? '' : `next in ${Number(delaySeconds.toFixed(3))} s`;
  const request = requestId === null ? '' : `request ${requestId}`;
  return [`${outcome} at ${finishedAt.toISOString()}${took}`, error, next, request].filter(Boolean).join('   ');
}

function suggestion({ id, status }: SeenJob['job']): string {
  if (status === 'dead_letter') return `npx millrace jobs retry ${id}`;
  const live = ['pending', 'failed', 'dispatched', 'running'].includes(status);
  return live ? `npx millrace jobs cancel ${id}` : 'npx millrace jobs list';
}

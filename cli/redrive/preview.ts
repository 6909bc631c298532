import type { DeadLetterGroup } from '../../core/dead-letters/group-dead-letters.ts';
import type { PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { PreviewedHandler, RedriveVerdict } from '../../core/dead-letters/preview-redrive.ts';
import type { RedriveOperation } from '../../core/dead-letters/redrive-operation.ts';
import { OTHERS } from '../../core/numbers/live-counts.ts';
import type { Backend } from '../backend/backend.ts';
import { shortGroup } from '../options/filter-options.ts';
import { snakeCase } from '../screen/json.ts';
import { count, counted } from '../screen/progress.ts';
import { firstLine } from '../screen/terminal.ts';
import { type ExplainedJob, explainJobs, jobOf, skippedDocument } from './named-jobs.ts';

/** What a redrive would do. */
export interface RedrivePreview {
  readonly matched: number;
  /** Matching dead letters that can be moved, within the limit. */
  readonly movable: number;
  readonly handlers: readonly PreviewedHandler[];
  readonly groups: readonly DeadLetterGroup[];
  /** Other redrives that are running. */
  readonly running: readonly RedriveOperation[];
  /** Named jobs that would not be moved. */
  readonly skipped: readonly ExplainedJob[];
  readonly rate: number | undefined;
}

const MOST_GROUPS = 20;
/** More than ever run at once. */
const MOST_RUNNING = 1000;

interface Asked {
  readonly filter: PinnedFilter;
  readonly limit: number | undefined;
  readonly rate: number | undefined;
}

export async function readPreview(backend: Backend, { filter, limit, rate }: Asked): Promise<RedrivePreview> {
  const handlers = await backend.previewRedrive(filter);
  const sum = (list: readonly PreviewedHandler[]) => list.reduce((total, { jobs }) => total + jobs, 0);
  const movable = sum(handlers.filter(({ verdict }) => verdict === 'movable'));
  return {
    matched: sum(handlers),
    movable: Math.min(movable, limit ?? movable),
    handlers,
    groups: await backend.groupDeadLetters(filter, MOST_GROUPS),
    running: (await backend.listRedrives({ status: 'running', limit: MOST_RUNNING })).toReversed(),
    skipped: await findSkipped(backend, filter, handlers),
    rate,
  };
}

async function findSkipped(backend: Backend, filter: PinnedFilter, handlers: readonly PreviewedHandler[]) {
  const { jobIds: ids = [] } = filter;
  if (ids.length === 0) return [];
  const movable = new Set(handlers.filter(({ verdict }) => verdict === 'movable').map(jobOf));
  const matching = await backend.listDeadLetters(filter, ids.length);
  const moved = new Set(matching.filter((letter) => movable.has(jobOf(letter))).map(({ jobId }) => jobId));
  const rest = ids.filter((id) => !moved.has(id));
  return explainJobs(backend, rest);
}

export function previewDocument(preview: RedrivePreview): Record<string, unknown> {
  const { matched, movable, handlers, groups, running, skipped, rate } = preview;
  return {
    ...{ dry_run: true, matched, movable },
    handlers: handlers.map(snakeCase),
    groups: groups.map(({ fingerprint, jobs, lastError }) => ({ group: fingerprint, jobs, error: lastError })),
    ...{ rate: rate ?? null, seconds: rate === undefined ? null : movable / rate },
    running_redrives: running.map(snakeCase),
    skipped_jobs: skippedDocument(skipped),
  };
}

const MOVES: Readonly<Record<RedriveVerdict, string>> = {
  movable: 'yes',
  no_handler: 'no: deploy its handler first',
  stray: 'no: a message without a job',
};

/** Returns the preview as two tables: by handler, and by kind of error. */
export function previewTables({ handlers, groups }: RedrivePreview) {
  return [
    {
      headings: ['HANDLER', 'JOBS', 'MOVABLE'],
      rows: handlers.map((one) => [
        jobOf(one),
        one.jobs,
        MOVES[one.verdict] + (one.paused ? ', but its handler is paused' : ''),
      ]),
    },
    {
      headings: ['GROUP', 'JOBS', 'ERROR'],
      rows: groups.map(({ fingerprint, jobs, lastError }) => [shortGroup(fingerprint), jobs, firstLine(lastError)]),
    },
  ] as const;
}

/** Returns a sentence for each reason why dead letters cannot be moved. */
export function whyNot({ handlers }: RedrivePreview): string[] {
  return handlers.flatMap((one) => obstacle(one) ?? []);
}

function obstacle(handler: PreviewedHandler): string | undefined {
  const jobs = counted(handler.jobs, 'job');
  switch (handler.verdict) {
    case 'movable':
      return undefined;
    case 'no_handler':
      if (handler.jobType === OTHERS) return `${jobs} of other job types without a handler`;
      return `${jobs} without a handler: deploy ${jobOf(handler)} first`;
    case 'stray':
      return `${counted(handler.jobs, 'message')} without a job: npx millrace dlq discard --stray N, with N from npx millrace dlq list`;
  }
}

/** Returns further warnings: paused handlers, and other redrives. */
export function remarks({ handlers, running, movable }: RedrivePreview): string[] {
  const moved = handlers.filter(({ verdict }) => verdict === 'movable');
  // A limit moves the oldest dead letters, whichever handler they have.
  const upTo = moved.length > 1 && moved.reduce((sum, { jobs }) => sum + jobs, 0) > movable ? 'up to ' : 'its ';
  return [
    ...moved
      .filter(({ paused }) => paused)
      .map((one) => `${jobOf(one)} is paused: ${upTo}${counted(Math.min(one.jobs, movable), 'job')} will wait`),
    ...running.map(
      ({ id, requestedBy, done, expected }) =>
        `redrive ${id} by ${requestedBy} is running: ${count(done)} of ${count(expected)} moved`,
    ),
  ];
}

/** Returns how long the redrive takes, when that is known. */
export function estimate({ movable, rate }: RedrivePreview): string {
  return rate === undefined || movable === 0 ? '' : `, in about ${span(movable / rate)} at ${rate}/s`;
}

function span(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import type { JobChange, Operation, OperationAction } from '../../core/operations/operation.ts';
import type { OperationPlan, OperationPreview } from '../../core/operations/start-operation.ts';
import type { Backend } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT, type ExitCode } from '../command-failure.ts';
import { explainNoMatch } from '../commands/similar-handlers.ts';
import type { GlobalOptions } from '../global-options.ts';
import { findGroup } from '../options/filter-options.ts';
import { addJobFilterOptions, type JobFilterOptions, toJobFilter } from '../options/job-filter-options.ts';
import { rate, reason, whole } from '../options/values.ts';
import { confirm } from '../screen/confirm.ts';
import { interruptible } from '../screen/interrupt.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { count, counted, howFar, openProgress } from '../screen/progress.ts';
import { print, printError, printHint, printMessage, printRowsToStderr, printTable, warn } from '../screen/terminal.ts';
import { printOperation } from './print-operation.ts';

/** The options of a command that changes the jobs of a filter. */
export interface OperationOptions extends JobFilterOptions, GlobalOptions {
  readonly all?: boolean;
  readonly limit?: number;
  readonly rate?: number;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const HELP = `
With a filter, an operation changes the jobs that match when the command counts them: jobs that are enqueued or change
their state later are not touched. The dispatcher continues it if this command dies; Ctrl-C cancels it, and changed jobs
stay changed. npx millrace operations lists, pauses, resumes and cancels operations.`;

export function addOperationOptions(command: Command): Command {
  return addJobFilterOptions(command)
    .option('--all', 'every job that the command can change')
    .option('--limit <n>', 'maximum number of jobs of a filter', whole(1, 1_000_000_000))
    .option('--rate <n/s>', 'jobs of a filter per second, such as 50/s; default unlimited', rate)
    .option('--reason <text>', 'why, for the audit log', reason)
    .option('--dry-run', 'show what a filter selects, and change nothing')
    .addHelpText('after', HELP);
}

const SENTENCES: Readonly<Record<OperationAction, readonly [question: string, done: string]>> = {
  cancel: ['Cancel', 'cancelled'],
  retry: ['Retry', 'retried'],
  discard: ['Discard', 'discarded'],
  delete: ['Permanently delete', 'deleted'],
  reschedule: ['Reschedule', 'rescheduled'],
};
const PAUSE_MS = 300;

/** Counts the jobs of a filter, asks for confirmation, and changes them. */
export async function runOperation(
  options: OperationOptions,
  action: OperationAction,
  change?: JobChange,
): Promise<ExitCode> {
  return withBackend(options, async (backend) => {
    const plan = await planOf(backend, options, action);
    const preview = await backend.previewOperation(plan);
    const { matched, complete } = preview;
    if (options.dryRun) {
      tellPreview(preview, options.json);
      return EXIT.done;
    }
    if (matched === 0 && complete) {
      throw new CommandFailure(
        EXIT.notFound,
        `no job that can be ${SENTENCES[action][1]} matches${await explainNoMatch(backend, options.jobType)}`,
      );
    }
    if (!options.yes) {
      if (!options.json) printRowsToStderr(HEADINGS, rowsOf(preview));
      const jobs = complete ? counted(matched, 'job') : `more than ${counted(matched, 'job')}`;
      await confirm(`${SENTENCES[action][0]} ${jobs}?`, { json: options.json === true, count: matched });
    }
    const expected = complete ? matched : undefined;
    const start = { ...plan, asOf: preview.asOf, expected, change, reason: options.reason, rate: options.rate };
    const { end, byUs } = await interruptible(async (signal) => {
      const id = await backend.startOperation(start);
      const atEnd = await watch(backend, { id, rate: options.rate, signal }).catch((error: unknown) => {
        printMessage(`operation ${id} has not finished: the dispatcher continues it`);
        throw error;
      });
      return { end: atEnd, byUs: signal.aborted };
    });
    if (options.json) print(toJson(snakeCase(end)));
    else printOperation(end);
    return report(end, byUs);
  });
}

async function planOf(backend: Backend, options: OperationOptions, action: OperationAction): Promise<OperationPlan> {
  const filter = toJobFilter(options);
  const { since, until } = await backend.pinTimes({ since: filter.createdFrom, until: filter.createdTo });
  const group = filter.group === undefined ? undefined : await findGroup(backend, filter.group);
  return { action, filter: { ...filter, createdFrom: since, createdTo: until, group }, limit: options.limit };
}

const HEADINGS = ['STATUS', 'JOB TYPE', 'ROUTING KEY', 'JOBS'];

function rowsOf({ groups }: OperationPreview) {
  return groups.map(({ status, jobType, routingKey, jobs }) => [status, jobType, routingKey, jobs]);
}

/** Prints the preview to standard output, since it is the result of the command. */
function tellPreview(preview: OperationPreview, json: boolean | undefined): void {
  const { matched, complete, asOf, groups } = preview;
  if (json) {
    print(toJson({ dry_run: true, matched, complete, as_of: asOf, counts: groups.map(snakeCase) }));
    return;
  }
  if (groups.length > 0) printTable(HEADINGS, rowsOf(preview));
  printMessage(`${complete ? '' : 'more than '}${counted(matched, 'job')} would be changed`);
  printHint('Nothing was changed: run without --dry-run to change them.');
}

interface Watched {
  readonly id: string;
  readonly rate: number | undefined;
  /** Fires when the operation should be cancelled. */
  readonly signal: AbortSignal;
}

/** Waits until an operation ends, or cancels it; returns its final state. With a rate, the dispatcher does the work. */
async function watch(backend: Backend, { id, rate: given, signal }: Watched): Promise<Operation> {
  const step = given === undefined ? backend.stepOperation : undefined;
  const progress = openProgress({ inFile: step === undefined });
  try {
    for (let done = -1; ; ) {
      if (signal.aborted) await backend.controlOperation(id, 'cancel');
      const now = await (step === undefined || signal.aborted ? backend.readOperation(id) : step(id));
      if (now === undefined) throw new Error(`operation ${id} no longer exists: was the database restored?`);
      if (now.status !== 'running' && now.status !== 'paused') return now;
      progress.show(`operation ${id}: ${progressOf(now)}`);
      if (step === undefined || now.done === done || now.status === 'paused') {
        await wait(PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
      done = now.done;
    }
  } finally {
    progress.clear();
  }
}

function progressOf({ done, expected, examined, status }: Operation): string {
  const far = expected === null ? `${count(done)}, ${Math.floor(100 * examined)} % examined` : howFar(done, expected);
  return status === 'paused' ? `paused, ${far}` : far;
}

function report({ id, status, done, expected, left }: Operation, byUs: boolean): ExitCode {
  if (status === 'cancelled') {
    printError(`operation ${id} was cancelled${byUs ? '' : ' by another user'}: changed jobs stay changed`);
    return byUs ? EXIT.interrupted : EXIT.conflict;
  }
  const reasons = Object.entries(left).map(([why, jobs]) => `${count(jobs)} ${why.replaceAll('_', ' ')}`);
  if (reasons.length > 0) warn(`not changed: ${reasons.join(', ')}`);
  return done === 0 && expected !== 0 ? EXIT.conflict : EXIT.done;
}

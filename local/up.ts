import { basename, join, relative } from 'node:path';
import { closeContents, dataPath, openDataFolder } from './data-folder.ts';
import { emptyFolder, lockFolder } from './folder-lock.ts';
import { watchSources } from './functions/reload.ts';
import { handlersFolder } from './handlers-folder.ts';
import type { RunnerEvent } from './lambda/specs.ts';
import { openLateImage } from './late-image.ts';
import { describeHolder, lockPath } from './lock-holder.ts';
import { isStopped } from './mailbox/stopped.ts';
import { type Children, openChildren } from './processes/children.ts';
import { packageManager } from './project-commands.ts';
import { projectFault } from './project-fault.ts';
import { type Place, publishState } from './publish-state.ts';
import { insertSamples } from './samples.ts';
import { banner } from './screen/banner.ts';
import { openEventPrinter } from './screen/event-printer.ts';
import { parseLogLine } from './screen/log-line.ts';
import { openStartProgress } from './screen/start-progress.ts';
import { withoutPassword } from './screen/without-password.ts';
import { type Part, writeLine } from './screen/writers.ts';
import { compareWithLastDatabase } from './services/last-database.ts';
import { openStack, type Stack } from './stack.ts';
import { isRunning, readState, removeState } from './state.ts';
import { fired, listenForStop, type StopRequests } from './stop-requests.ts';
import { assertTrustedCode } from './trust.ts';

export interface UpOptions {
  /** Delete the data of earlier starts. */
  readonly fresh: boolean;
  /** Divide every retry delay by 60. */
  readonly fastRetries: boolean;
  /** The project folder. */
  readonly cwd: string;
  /** Folder of the handler files, absolute or in the project; default: `jobs`, else `functions/handlers`. */
  readonly handlers?: string | undefined;
  /** A Postgres of the user, as its owner; default: a server that the stack starts. */
  readonly databaseUrl?: string | undefined;
}

const FAST_RETRY_FACTOR = 1 / 60;
const EXIT_NO_PROJECT = 2;
const EXIT_ALREADY_RUNNING = 5;
const EXIT_INTERRUPTED = 130;
const EXIT_DELAY_MS = 100;

/**
 * Runs the product on this machine until it is requested to stop. Resolves with the exit code; the process exits
 * shortly after.
 */
export async function up(options: UpOptions): Promise<number> {
  const project = options.cwd;
  const folder = handlersFolder(project, options.handlers);
  const fault = projectFault(project, folder);
  if (folder === undefined || fault !== undefined) return refuse(EXIT_NO_PROJECT, fault ?? '');
  const place = { project, handlersFolder: folder };
  await openDataFolder(project);
  const lock = await lockFolder(lockPath(project));
  if (lock === undefined) return refuse(EXIT_ALREADY_RUNNING, await describeRunning(project));
  const requests = listenForStop();
  const children = openChildren();
  surviveUncaughtErrors();
  try {
    if (options.fresh) await emptyFolder(dataPath(project), basename(lockPath(project)), printLine);
    await closeContents(dataPath(project));
    const killed = fired(requests.halt).then(() => EXIT_INTERRUPTED);
    const code = await Promise.race([live({ ...options, ...place }, children, requests), killed]);
    if (requests.halt.aborted)
      printLine('stopped at once; jobs that were running run again after the next start, and use no attempt');
    return code;
  } finally {
    await children.close();
    await removeState(project);
    lock.release();
    exitSoon();
  }
}

async function live(options: UpOptions & Place, children: Children, requests: StopRequests): Promise<number> {
  const { project, handlersFolder: folder } = options;
  let starting: Promise<Stack | undefined> | undefined;
  let isStarted = false;
  const reload = async (): Promise<void> => {
    const stack = await starting;
    if (stack === undefined) return;
    assertTrustedCode(project, folder);
    await stack.handlers.sync(() => publishState(options, stack));
  };
  const sources = new Set<string>();
  const watched = { folder, file: join(project, '.env'), sources };
  const onSources = (files: readonly string[]) => {
    for (const file of files) sources.add(file);
  };
  // Before the files are read for the first time, so that a file saved during the start is not missed.
  const watch = await watchSources(watched, reload, printLine);
  requests.stop.addEventListener('abort', () => printLine(stopping(requests.stop.reason, !isStarted)), { once: true });
  try {
    starting = start({ ...options, onSources }, children, requests).catch((error: unknown) => {
      if (requests.stop.aborted) return undefined;
      throw error;
    });
    if ((await starting) === undefined) return EXIT_INTERRUPTED;
    isStarted = true;
    await watch.update();
    await fired(requests.stop);
  } finally {
    await watch.end();
  }
  await (await starting)?.close();
  if (!requests.halt.aborted) printLine('stopped');
  return 0;
}

/** Returns the line that confirms a request to stop, at once: during a start, the stop can take seconds. */
function stopping(reason: unknown, isStarting: boolean): string {
  const time = `${new Date().toISOString().slice(11, 19)}Z`;
  const what = isStarting ? 'undoing the start' : 'waiting for running jobs';
  return `${time}  stopping: ${reason}; ${what} (Ctrl-C again stops at once)`;
}

async function start(
  { fastRetries, ...place }: UpOptions & Place & { onSources: (files: readonly string[]) => void },
  children: Children,
  requests: StopRequests,
): Promise<Stack> {
  const progress = openStartProgress(place.project);
  const { during, printLine } = progress;
  const printEvent = openEventPrinter(printLine);
  const lateImage = openLateImage();
  const onEvent = (event: RunnerEvent): void => {
    if (requests.halt.aborted) return;
    printEvent(event);
    const log = event.kind === 'log' ? parseLogLine(event.message) : undefined;
    if (log?.event === 'job_failed') lateImage.jobFailed(log.job_id);
  };
  const retryFactor = fastRetries ? FAST_RETRY_FACTOR : 1;
  const options = { children, ...place, retryFactor, onEvent, printLine, during, ...requests };
  const stack = await openStack(options).finally(progress.end);
  await compareWithLastDatabase(dataPath(place.project), place.databaseUrl, printLine);
  const samples = await insertSamples(stack);
  lateImage.expect(samples);
  await publishState(place, stack);
  const mailboxStopped = await isStopped(stack.services.mailFolder);
  const shownAs = { fastRetries, samples: samples !== undefined, folder: shown(place), mailboxStopped };
  printLine(...banner(stack, { ...shownAs, run: packageManager().run }));
  return stack;
}

function shown({ project, handlersFolder: folder }: Place): string {
  return relative(project, folder);
}

async function describeRunning(project: string): Promise<string> {
  const other = await readState(project).catch(() => undefined);
  if (other === undefined || !(await isRunning(other))) {
    // The holder may have ended since.
    return describeHolder(project) ?? 'Millrace ran in this folder a moment ago: run npx millrace dev again';
  }
  return (
    `Millrace already runs in this folder as process ${other.pid}: database ${withoutPassword(other.databaseUrl)} ` +
    `(npx millrace url), SQS ${other.sqsEndpoint}. Stop it with Ctrl-C where it was started.`
  );
}

/** This process imports handler files too: an error that one of them raises later must not stop the others. */
function surviveUncaughtErrors(): void {
  process.on('uncaughtException', (error: unknown) => {
    printLine(`uncaught error outside of any job: ${error instanceof Error ? error.stack : String(error)}`);
  });
}

/** A timer or socket opened by a handler file at import would otherwise keep this process running. */
function exitSoon(): void {
  setTimeout(() => process.exit(), EXIT_DELAY_MS).unref();
}

function refuse(code: number, sentence: string): number {
  writeLine('stderr', sentence);
  return code;
}

function printLine(...parts: readonly Part[]): void {
  writeLine('stdout', ...parts);
}

import { basename, join } from 'node:path';
import { closeContents, dataPath, openDataFolder } from './data-folder.ts';
import { emptyFolder, lockFolder } from './folder-lock.ts';
import { watchSources } from './functions/reload.ts';
import type { RunnerEvent } from './lambda/specs.ts';
import { openLateImage } from './late-image.ts';
import { describeHolder, lockPath } from './lock-holder.ts';
import { isStopped } from './mailbox/stopped.ts';
import { type Children, openChildren } from './processes/children.ts';
import { projectFault } from './project-fault.ts';
import { insertSamples } from './samples.ts';
import { banner, withoutPassword } from './screen/banner.ts';
import { openEventPrinter } from './screen/event-printer.ts';
import { parseLogLine } from './screen/log-line.ts';
import { openStartProgress } from './screen/start-progress.ts';
import { type Part, writeLine } from './screen/writers.ts';
import { openStack, type Stack } from './stack.ts';
import { isRunning, readState, removeState, writeState } from './state.ts';
import { fired, listenForStop, type StopRequests } from './stop-requests.ts';
import { assertTrustedCode } from './trust.ts';

export interface UpOptions {
  /** Delete the data of earlier starts. */
  readonly fresh: boolean;
  /** Divide every retry delay by 60. */
  readonly fastRetries: boolean;
  /** The project folder, which contains `functions/handlers`. */
  readonly cwd: string;
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
  const fault = projectFault(project);
  if (fault !== undefined) return refuse(EXIT_NO_PROJECT, fault);
  await openDataFolder(project);
  const lock = await lockFolder(lockPath(project));
  if (lock === undefined) return refuse(EXIT_ALREADY_RUNNING, await describeRunning(project));
  const requests = listenForStop();
  const children = openChildren();
  surviveUncaughtErrors();
  try {
    if (options.fresh) await emptyFolder(dataPath(project), basename(lockPath(project)));
    await closeContents(dataPath(project));
    const killed = fired(requests.halt).then(() => EXIT_INTERRUPTED);
    const code = await Promise.race([live(options, children, requests), killed]);
    if (requests.halt.aborted)
      printLine('stopped at once; jobs that were running are retried when their leases expire');
    return code;
  } finally {
    await children.close();
    await removeState(project);
    lock.release();
    exitSoon();
  }
}

async function live(options: UpOptions, children: Children, requests: StopRequests): Promise<number> {
  const project = options.cwd;
  let starting: Promise<Stack | undefined> | undefined;
  let isStarted = false;
  const reload = async (): Promise<void> => {
    const stack = await starting;
    if (stack === undefined) return;
    assertTrustedCode(project);
    await stack.handlers.sync(() => publishState(project, stack));
  };
  const watched = { folder: join(project, 'functions'), file: join(project, '.env') };
  // Before the files are read for the first time, so that a file saved during the start is not missed.
  const endWatch = await watchSources(watched, reload, printLine);
  requests.stop.addEventListener('abort', () => printLine(stopping(requests.stop.reason, !isStarted)), { once: true });
  try {
    starting = start(options, children, requests).catch((error: unknown) => {
      if (requests.stop.aborted) return undefined;
      throw error;
    });
    if ((await starting) === undefined) return EXIT_INTERRUPTED;
    isStarted = true;
    await fired(requests.stop);
  } finally {
    await endWatch();
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
  { cwd: project, fastRetries }: UpOptions,
  children: Children,
  requests: StopRequests,
): Promise<Stack> {
  const progress = openStartProgress(project);
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
  const options = { children, project, retryFactor, onEvent, printLine, during, ...requests };
  const stack = await openStack(options).finally(progress.end);
  const samples = await insertSamples(stack);
  lateImage.expect(samples);
  await publishState(project, stack);
  const mailboxStopped = await isStopped(stack.services.mailFolder);
  printLine(...banner(stack, { fastRetries, samples: samples !== undefined, mailboxStopped }));
  return stack;
}

async function publishState(project: string, stack: Stack): Promise<void> {
  await writeState(project, {
    pid: process.pid,
    databaseUrl: stack.databaseUrl,
    sqsEndpoint: stack.sqsEndpoint,
    lambdaEndpoint: stack.runner.endpoint,
    lambdaAccessKeyId: stack.lambdaAccessKeyId,
    handlers: stack.handlers.list().map(({ definition, queueUrl, deadLetterQueueUrl }) => ({
      jobType: definition.jobType,
      routingKey: definition.routingKey,
      queueUrl,
      deadLetterQueueUrl,
    })),
    variables: stack.handlers.variables(),
    mailFolder: stack.services.mailFolder,
    smtpUrl: stack.smtpUrl,
    filesUrl: stack.services.files.url,
    apiUrl: stack.apiUrl,
  });
}

async function describeRunning(project: string): Promise<string> {
  const other = await readState(project).catch(() => undefined);
  if (other === undefined || !(await isRunning(other))) {
    // The holder may have ended since.
    return describeHolder(project) ?? 'Millrace ran in this folder a moment ago: run npm start again';
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

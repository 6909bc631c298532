import { type FSWatcher, watch } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { banner } from './banner.ts';
import { type Children, openChildren } from './children.ts';
import { eventLine, parseLogLine } from './event-lines.ts';
import type { RunnerEvent } from './lambda/runner.ts';
import { insertSamples, type Samples } from './samples.ts';
import { openStack, type Stack } from './stack.ts';
import { isRunning, readState, removeState, writeState } from './state.ts';

export interface UpOptions {
  /** Throw away what earlier starts left. */
  readonly fresh: boolean;
  /** Divide every retry delay by 60. */
  readonly fastRetries: boolean;
  /** The project: the folder with `functions/handlers`. */
  readonly cwd: string;
}

const FAST_RETRY_FACTOR = 1 / 60;
const EXIT_ALREADY_RUNNING = 5;
const EXIT_INTERRUPTED = 130;
const RELOAD_PAUSE_MS = 150;

/** Runs the product on this machine until it is told to stop; resolves with the exit code. */
export async function up(options: UpOptions): Promise<number> {
  const project = options.cwd;
  const other = await readState(project).catch(() => undefined);
  if (other && (await isRunning(other))) {
    say(`Millrace already runs in this folder, as process ${other.pid}: ${other.databaseUrl}, ${other.sqsEndpoint}`);
    say('Stop it with Ctrl-C where it was started, or: npx millrace jobs list');
    return EXIT_ALREADY_RUNNING;
  }
  if (options.fresh) await rm(join(project, '.millrace'), { recursive: true, force: true });
  await mkdir(join(project, '.millrace'), { recursive: true });
  const children = openChildren();
  const stop = stopRequests();
  try {
    const started = start(options, children);
    const stack = await Promise.race([started, stop.second.then(() => undefined)]);
    if (stack === undefined) return EXIT_INTERRUPTED;
    const watcher = watchHandlers(project, stack);
    await stop.first;
    watcher.close();
    return await shutDown(stack, stop.second);
  } finally {
    await removeState(project);
    await children.close();
  }
}

async function start({ cwd: project, fastRetries }: UpOptions, children: Children): Promise<Stack> {
  let samples: Samples | undefined;
  const onEvent = (event: RunnerEvent): void => {
    const line = eventLine(event, new Date());
    if (line !== undefined) say(line);
    const log = event.kind === 'log' ? parseLogLine(event.message) : undefined;
    if (log?.event === 'job_failed' && log.job === samples?.late) void samples?.bringLateImage();
  };
  const retryFactor = fastRetries ? FAST_RETRY_FACTOR : 1;
  const stack = await openStack({ children, project, retryFactor, onEvent, say });
  await publishState(project, stack);
  samples = await insertSamples(stack);
  say(banner(stack, { fastRetries, samples: samples !== undefined }));
  return stack;
}

async function publishState(project: string, stack: Stack): Promise<void> {
  await writeState(project, {
    pid: process.pid,
    databaseUrl: stack.databaseUrl,
    sqsEndpoint: stack.sqsEndpoint,
    lambdaEndpoint: stack.runner.endpoint,
    handlers: stack.handlers.list().map(({ definition, queueUrl, deadLetterQueueUrl }) => ({
      jobType: definition.jobType,
      routingKey: definition.routingKey,
      queueUrl,
      deadLetterQueueUrl,
    })),
    mailFolder: stack.services.mailFolder,
    smtpUrl: stack.smtpUrl,
    filesUrl: stack.services.files.url,
  });
}

/** Editors write a file in several steps: only when it has been quiet for a moment is it read. */
function watchHandlers(project: string, stack: Stack): FSWatcher {
  let timer: NodeJS.Timeout | undefined;
  const reload = async (): Promise<void> => {
    await stack.handlers.sync();
    await publishState(project, stack);
  };
  const watcher = watch(join(project, 'functions'), { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => void reload().catch((error: unknown) => say(`reload failed: ${String(error)}`)),
      RELOAD_PAUSE_MS,
    );
  });
  watcher.on('error', (error) => say(`saved files are not noticed any more: ${error.message}`));
  return watcher;
}

async function shutDown(stack: Stack, second: Promise<void>): Promise<number> {
  say('stopping: running jobs may finish (Ctrl-C again stops at once)');
  const closed = stack.close().then(() => 0);
  const code = await Promise.race([closed, second.then(() => EXIT_INTERRUPTED)]);
  say(code === 0 ? 'stopped' : 'stopped at once; jobs that were running come back when their lease is over');
  return code;
}

/** The first request to stop and the second. A terminal that goes away asks for the same. */
function stopRequests(): { first: Promise<void>; second: Promise<void> } {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  let count = 0;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      count++;
      (count === 1 ? first : second).resolve();
    });
  }
  // Nobody reads any more: go on stopping, do not die of it.
  process.stdout.on('error', () => undefined);
  return { first: first.promise, second: second.promise };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

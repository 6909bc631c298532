import { chmod, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openChildren } from '../local/processes/children.ts';
import { openStack, type Stack } from '../local/stack.ts';

export interface BenchStack {
  readonly stack: Stack;
  /** Duration of the start. */
  readonly upSeconds: number;
  /** The folder of the bundles of the stack's own functions. */
  readonly bundles: string;
  /** Returns the SQS requests so far, by action. */
  readCounts(): Promise<Record<string, number>>;
}

/** Starts the whole local stack with the handlers of the benchmark, in separate processes; stops it after `work`. */
export async function onBenchStack<T>(work: (bench: BenchStack) => Promise<T>): Promise<T> {
  const project = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  await chmod(project, 0o755);
  await mkdir(join(project, 'functions'));
  await symlink(join(import.meta.dirname, 'handlers'), join(project, 'functions', 'handlers'));
  const counts = join(project, 'requests.json');
  const { NODE_OPTIONS } = process.env;
  process.env.MILLRACE_BENCH_COUNTS = counts;
  process.env.NODE_OPTIONS = `--import=${new URL('count-requests.ts', import.meta.url).href}`;
  const children = openChildren();
  try {
    const { signal } = new AbortController();
    const quiet = { onEvent: () => undefined, printLine: () => undefined, stop: signal, halt: signal };
    const begun = performance.now();
    const stack = await openStack({ children, project, retryFactor: 1, ...quiet });
    const upSeconds = (performance.now() - begun) / 1000;
    const readCounts = () => readJson(counts);
    const result = await work({ stack, upSeconds, bundles: join(project, '.millrace', 'bundles'), readCounts });
    await stack.close();
    return result;
  } finally {
    if (NODE_OPTIONS === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = NODE_OPTIONS;
    await children.close();
    await rm(project, { recursive: true, force: true });
  }
}

async function readJson(file: string): Promise<Record<string, number>> {
  return JSON.parse(await readFile(file, 'utf8').catch(() => '{}'));
}

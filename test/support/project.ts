import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { type DevState, isRunning, readState } from '../../local/state.ts';
import { eventually } from './eventually.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** A project like a fresh clone: its own handlers and data, the product's code. */
export interface Project {
  readonly folder: string;
  /** Writes a handler file, new or in place of another. */
  writeHandler(file: string, source: string): Promise<void>;
  /** Ends what still runs of it, and removes it. */
  remove(): Promise<void>;
}

export interface RunningStack {
  readonly state: DevState;
  readonly process: ChildProcess;
  /** Everything it has printed so far. */
  output(): string;
  /** As its owner. */
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Ctrl-C, and the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** With the shipped handlers, unless `handlers` gives others: file name to source. */
export async function makeProject(handlers?: Readonly<Record<string, string>>): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-project-'));
  await chmod(folder, 0o755);
  const own = join(folder, 'functions', 'handlers');
  for (const name of ['core', 'node_modules']) await symlink(join(ROOT, name), join(folder, name));
  await cp(join(ROOT, 'functions'), join(folder, 'functions'), { recursive: true });
  if (handlers !== undefined) await rm(own, { recursive: true });
  await mkdir(own, { recursive: true });
  const writeHandler = (file: string, source: string) => writeFile(join(own, file), source);
  for (const [file, source] of Object.entries(handlers ?? {})) await writeHandler(file, source);
  const remove = async (): Promise<void> => {
    const state = await readState(folder);
    if (state && (await isRunning(state))) process.kill(state.pid, 'SIGKILL');
    await eventually(() => rm(folder, { recursive: true, force: true }), { timeout: 20_000, interval: 200 });
  };
  return { folder, writeHandler, remove };
}

/** Starts the product in a project, as `npm start` does, and waits for its banner. */
export async function startUp(project: Project, args: readonly string[] = []): Promise<RunningStack> {
  const child = spawn(process.execPath, [join(ROOT, 'cli', 'millrace.js'), 'up', ...args], {
    cwd: project.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  let output = '';
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const state = await eventually(
    async () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}:\n${output}`);
      if (!output.includes('Ctrl-C lets running jobs finish')) throw new Error(`no banner yet:\n${output}`);
      return (await readState(project.folder)) as DevState;
    },
    { timeout: 30_000 },
  );
  return {
    state,
    process: child,
    output: () => output,
    query: (text, values) => query(state.databaseUrl, text, values),
    stop: async (signal = 'SIGINT') => {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

/** A connection each time: the server may have been killed since the last. */
async function query<Row extends pg.QueryResultRow>(url: string, text: string, values?: unknown[]): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

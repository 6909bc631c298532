import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { type DevState, readState } from '../../local/state.ts';
import { eventually } from './eventually.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MILLRACE = join(ROOT, 'cli', 'millrace.js');

/** A project like a fresh clone: with its own handlers and data, and the code of the product. */
export interface Project {
  readonly folder: string;
  /** Processes that were started in the project. */
  readonly processes: ChildProcess[];
  /** Creates or replaces a handler file. */
  writeHandler(file: string, source: string): Promise<void>;
  removeHandler(file: string): Promise<void>;
  /** Runs `millrace` in the project until it ends. */
  millrace(...args: readonly string[]): Promise<Ended>;
  /** Kills the processes that still run, and removes the folder. */
  remove(): Promise<void>;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningStack {
  readonly state: DevState;
  readonly process: ChildProcess;
  /** Returns all output so far. */
  output(): string;
  /** Runs a statement as the owner of the database. */
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Sends a signal, by default that of Ctrl-C; returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Creates a project with the shipped handlers, or with those of `handlers`, from file name to source. */
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
  const removeHandler = (file: string) => rm(join(own, file));
  const processes: ChildProcess[] = [];
  const remove = async (): Promise<void> => {
    for (const child of processes.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      child.kill('SIGKILL');
    }
    await eventually(() => rm(folder, { recursive: true, force: true }), { interval: 200 });
  };
  const millrace = (...args: readonly string[]) => runMillrace(folder, args);
  return { folder, processes, writeHandler, removeHandler, millrace, remove };
}

function runMillrace(cwd: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, NO_COLOR: '1' } };
    const child = execFile(process.execPath, [MILLRACE, ...args], options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

/** A started `millrace dev`, which may not have printed its banner yet. */
export interface Launched {
  readonly process: ChildProcess;
  output(): string;
  readonly exited: Promise<number | null>;
}

export function launch(
  project: Project,
  args: readonly string[] = [],
  { millrace = MILLRACE, env = {} }: { millrace?: string; env?: NodeJS.ProcessEnv } = {},
): Launched {
  const child = spawn(process.execPath, [millrace, 'dev', ...args], {
    cwd: project.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', ...env },
  });
  project.processes.push(child);
  let output = '';
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const exited = once(child, 'exit').then(([code]: (number | null)[]) => code ?? null);
  return { process: child, output: () => output, exited };
}

/** Starts the product in a project, as `npm start` does, and waits for its banner. */
export async function startUp(project: Project, args: readonly string[] = []): Promise<RunningStack> {
  return whenUp(project, launch(project, args));
}

export async function whenUp(project: Project, launched: Launched): Promise<RunningStack> {
  const { process: child, output, exited } = launched;
  const ended = exited.then((code) => {
    throw new Error(`npm start ended with ${code}:\n${output()}`);
  });
  // The process may end later, when no code awaits `ended`.
  ended.catch(() => undefined);
  const ready = eventually(
    async () => {
      if (!output().includes('Ctrl-C lets running jobs finish')) throw new Error(`no banner yet:\n${output()}`);
      return (await readState(project.folder)) as DevState;
    },
    { timeout: 180_000 },
  );
  const state = await Promise.race([ready, ended]);
  return {
    state,
    process: child,
    output,
    query: (text, values) => query(state.databaseUrl, text, values),
    stop: async (signal = 'SIGINT') => {
      child.kill(signal);
      return exited;
    },
  };
}

/** Runs a statement on a new connection: the server may have been killed since the last one. */
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

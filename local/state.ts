import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The stage in the names of queues and functions on one machine. */
export const STAGE = 'local';

/** Of the emulators on this machine, which look at neither. */
export const REGION = 'us-east-1';
export const CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' } as const;

export interface HandlerState {
  readonly jobType: string;
  /** Empty for a handler without one. */
  readonly routingKey: string;
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
}

/** Where the parts of a running stack are: `.millrace/dev.json`, for our own commands and for any other tool. */
export interface DevState {
  readonly pid: number;
  /** Tells the process from a later one with the same pid; opaque. */
  readonly processStart: string;
  readonly databaseUrl: string;
  readonly sqsEndpoint: string;
  readonly lambdaEndpoint: string;
  readonly handlers: readonly HandlerState[];
  readonly mailFolder: string;
  readonly smtpUrl: string;
  readonly filesUrl: string;
  /** The HTTP API. It asks nobody on this machine for a credential. */
  readonly apiUrl: string;
}

export interface FoundState {
  /** The project: the folder that holds `.millrace`. */
  readonly folder: string;
  readonly state: DevState;
}

const run = promisify(execFile);

/** `project` is the folder that holds `.millrace`. */
export function statePath(project: string): string {
  return join(project, '.millrace', 'dev.json');
}

/** Replaces the file as a whole; only our user may read it, since the database's password is in it. */
export async function writeState(project: string, state: Omit<DevState, 'processStart'>): Promise<void> {
  const path = statePath(project);
  const draft = `${path}.${randomUUID()}.new`;
  const processStart = (await processStartOf(state.pid)) ?? '';
  await mkdir(dirname(path), { recursive: true });
  await writeFile(draft, `${JSON.stringify({ ...state, processStart }, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, path);
}

export async function removeState(project: string): Promise<void> {
  await rm(statePath(project), { force: true });
}

/**
 * The state of the nearest project at or above `from`; undefined when there is none. It may be of a stack that has
 * ended: see `isRunning`. Throws one sentence when the file cannot be understood.
 */
export async function findState(from: string = process.cwd()): Promise<FoundState | undefined> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const state = await readState(folder);
    if (state !== undefined) return { folder, state };
    if (folder === dirname(folder)) return undefined;
  }
}

/** The state of exactly this project. */
export async function readState(project: string): Promise<DevState | undefined> {
  const path = statePath(project);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const state = parse(text);
  if (state === undefined) throw new Error(`${path} is not what npm start writes: delete it and start again.`);
  return state;
}

function parse(text: string): DevState | undefined {
  try {
    const value: Partial<DevState> | null = JSON.parse(text);
    const strings = [value?.processStart, value?.databaseUrl, value?.sqsEndpoint, value?.lambdaEndpoint];
    const complete = Number.isInteger(value?.pid) && strings.every((entry) => typeof entry === 'string');
    return complete && Array.isArray(value?.handlers) ? (value as DevState) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the process that wrote the state lives: not a zombie, and not another one that got its pid. */
export async function isRunning({ pid, processStart }: Pick<DevState, 'pid' | 'processStart'>): Promise<boolean> {
  return processStart !== '' && (await processStartOf(pid)) === processStart;
}

/** Undefined when there is no such process or it is a zombie. Ticks count from the boot, so the boot belongs to it. */
async function processStartOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    // The second field is the program's name in brackets, and may hold anything; the start is the 22nd.
    const fields = stat?.slice(stat.lastIndexOf(') ') + 2).split(' ');
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
    return fields === undefined || /^[ZX]/.test(fields[0] ?? '') ? undefined : `${boot.trim()}/${fields[19]}`;
  }
  const { stdout } = await run('ps', ['-o', 'state=,lstart=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  const [state = '', ...start] = stdout.trim().split(/\s+/);
  return state === '' || state.startsWith('Z') ? undefined : start.join(' ');
}

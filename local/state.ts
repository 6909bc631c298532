import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findAbove } from './find-above.ts';

/** The stage in the names of queues and functions on one machine. */
export const STAGE = 'local';

export const REGION = 'us-east-1';
/** Credentials for the SQS emulator, which does not verify them. */
export const CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' } as const;

export interface HandlerState {
  readonly jobType: string;
  /** Empty for a handler without a routing key. */
  readonly routingKey: string;
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
}

/** The addresses of a running stack, as in `.millrace/dev.json`: read by the `millrace` command and by other tools. */
export interface DevState {
  readonly pid: number;
  /** Folder of the handler files. */
  readonly handlersFolder?: string;
  /** Distinguishes the process from a later process with the same pid; opaque. */
  readonly processStart: string;
  readonly databaseUrl: string;
  readonly sqsEndpoint: string;
  readonly lambdaEndpoint: string;
  /** The access key that the Lambda endpoint requires; each start creates a new one. */
  readonly lambdaAccessKeyId: string;
  readonly handlers: readonly HandlerState[];
  /** The variables that its handlers read, such as `MILLRACE_MAX_ATTEMPTS`. Absent: none. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly mailFolder: string;
  readonly smtpUrl: string;
  readonly filesUrl: string;
  /** The HTTP API; it requires no credentials unless MILLRACE_API_AUTH of the project says so. */
  readonly apiUrl: string;
}

export interface FoundState {
  /** The project folder, which contains `.millrace`. */
  readonly folder: string;
  readonly state: DevState;
}

const run = promisify(execFile);

/** Returns the path of the state file of a project folder. */
export function statePath(project: string): string {
  return join(project, '.millrace', 'dev.json');
}

/** Replaces the file atomically. Only the current user can read it, because it contains the database password. */
export async function writeState(project: string, state: Omit<DevState, 'processStart'>): Promise<void> {
  const path = statePath(project);
  const draft = `${path}.${randomUUID()}.new`;
  const processStart = (await processStartOf(state.pid)) ?? '';
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(draft, `${JSON.stringify({ ...state, processStart }, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, path);
}

export async function removeState(project: string): Promise<void> {
  await rm(statePath(project), { force: true });
}

/**
 * Returns the state of the project that contains `from`; undefined if it has no state. The stack may have stopped
 * since: see `isRunning`. Throws if the file cannot be parsed, or if another account could have written it.
 */
export async function findState(from: string = process.cwd()): Promise<FoundState | undefined> {
  const found = findAbove(from, '.millrace/dev.json');
  const state = found && (await readState(found.folder));
  return state && found && { folder: found.folder, state };
}

/** Returns the state of this project; undefined if it has none. */
export async function readState(project: string): Promise<DevState | undefined> {
  const path = statePath(project);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const state = parse(text);
  if (state === undefined) throw new Error(`${path} was not written by npx millrace dev: delete it and start again.`);
  return state;
}

function parse(text: string): DevState | undefined {
  try {
    const value: Partial<DevState> | null = JSON.parse(text);
    const { processStart, databaseUrl, sqsEndpoint, lambdaEndpoint, lambdaAccessKeyId } = value ?? {};
    const strings = [processStart, databaseUrl, sqsEndpoint, lambdaEndpoint, lambdaAccessKeyId];
    const complete = Number.isInteger(value?.pid) && strings.every((entry) => typeof entry === 'string');
    return complete && Array.isArray(value?.handlers) ? (value as DevState) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether the process that wrote the state runs: a zombie or another process with its pid does not count. */
export async function isRunning({ pid, processStart }: Pick<DevState, 'pid' | 'processStart'>): Promise<boolean> {
  return processStart !== '' && (await processStartOf(pid)) === processStart;
}

/**
 * Identifies a process by its start; undefined if it does not exist or is a zombie. Linux counts the start from the
 * boot, so the identity of the boot is part of the result.
 */
async function processStartOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    // The second field is the program's name in brackets, which may contain spaces; the start time is the 22nd field.
    const fields = stat?.slice(stat.lastIndexOf(') ') + 2).split(' ');
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
    return fields === undefined || /^[ZX]/.test(fields[0] ?? '') ? undefined : `${boot.trim()}/${fields[19]}`;
  }
  const { stdout } = await run('ps', ['-o', 'state=,lstart=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  const [state = '', ...start] = stdout.trim().split(/\s+/);
  return state === '' || state.startsWith('Z') ? undefined : start.join(' ');
}

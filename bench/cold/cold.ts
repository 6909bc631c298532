import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleEnvironment } from '../../infra/bundle/options.ts';
import { middle } from '../measures/meter.ts';
import { readProcessStat } from '../measures/process-stat.ts';
import { startServer } from '../measures/server.ts';
import { bundleAll, type ColdFunction } from './bundles.ts';

const PROCESS = join(import.meta.dirname, 'cold-process.mjs');
const WIDTHS = [16, 9, 9, 9, 9, 10, 10] as const;
const HEADS = ['function', 'kB', 'gzip kB', 'load ms', 'CPU ms', 'query ms', 'CPU ms'];
const PACKAGES = 6;
/** The types of the first message of a query: `Parse` and `Query`. */
const QUERIES = [0x50, 0x51];

/** What one process took, in milliseconds; the query only for a function that was invoked. */
interface Start {
  readonly loadMs: number;
  readonly loadCpuMs: number;
  readonly queryMs?: number;
  readonly queryCpuMs?: number;
}

/** Prints what a new process of each deployed function takes: its size, its load, and the time to its first query. */
export async function runCold({ runs, print }: { runs: number; print: (text: string) => void }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-cold-'));
  const server = await startServer();
  const watched = await watchQueries(new URL(server.url));
  try {
    const functions = await bundleAll(folder);
    const starts = new Map<string, Start[]>(functions.map(({ name }) => [name, []]));
    for (let run = 0; run < runs; run++) {
      for (const one of functions) starts.get(one.name)?.push(await startOnce(one, watched));
    }
    print(`\na new process of each function, medians of ${runs}; the query is timed from the start of the process`);
    print(row(HEADS));
    for (const one of functions) print(lineOf(one, starts.get(one.name) ?? []));
    print('\nlargest packages of what is loaded at the start, in kB');
    for (const { name, packages } of functions) print(`${name.padEnd(WIDTHS[0])}${listed(packages)}`);
  } finally {
    watched.server.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function lineOf({ name, bytes, gzipBytes }: ColdFunction, starts: readonly Start[]): string {
  const of = (field: keyof Start) => {
    const values = starts.flatMap((start) => start[field] ?? []);
    return values.length === 0 ? '–' : middle(values).toFixed(0);
  };
  const sizes = [bytes, gzipBytes].map((size) => (size / 1000).toFixed(0));
  return row([name, ...sizes, of('loadMs'), of('loadCpuMs'), of('queryMs'), of('queryCpuMs')]);
}

function row([name = '', ...cells]: readonly string[]): string {
  return name.padEnd(WIDTHS[0]) + cells.map((cell, index) => cell.padStart(WIDTHS[index + 1] ?? 0)).join('');
}

function listed(packages: ColdFunction['packages']): string {
  const largest = packages.slice(0, PACKAGES).map(([name, bytes]) => `${name} ${(bytes / 1000).toFixed(0)}`);
  return `${largest.join(', ')}, ${packages.length - largest.length} others`;
}

interface Watched {
  readonly server: Server;
  /** The database, through the watching server. */
  readonly url: string;
  /** Called at each query. */
  onQuery: () => void;
}

/** Forwards connections to the database, and reports queries. */
async function watchQueries(database: URL): Promise<Watched> {
  const server = createServer((client: Socket) => {
    const upstream = connect(Number(database.port), database.hostname);
    client.on('data', ([type = 0]) => QUERIES.includes(type) && watched.onQuery());
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(database);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as { port: number }).port);
  const watched: Watched = { server, url: url.href, onQuery: () => undefined };
  return watched;
}

/** Starts a process of a function, and ends it after its first query. */
async function startOnce({ bundle, event }: ColdFunction, watched: Watched): Promise<Start> {
  const begun = performance.now();
  const queried = new Promise<number>((resolve) => {
    watched.onQuery = () => resolve(performance.now() - begun);
  });
  const child = fork(PROCESS, [bundle, ...(event === undefined ? [] : [event])], {
    env: { ...environment(watched.url), ...bundleEnvironment },
    execArgv: [],
    silent: true,
  });
  const ended = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += String(text)));
  const failed = ended.then(([code]) => Promise.reject(new Error(`${bundle} ended with ${code}: ${output}`)));
  failed.catch(() => undefined);
  try {
    const [loaded] = (await Promise.race([once(child, 'message'), failed])) as [{ loadMs: number; cpuMs: number }];
    const start = { loadMs: loaded.loadMs, loadCpuMs: loaded.cpuMs };
    if (event === undefined) return start;
    const queryMs = await Promise.race([queried, failed]);
    return { ...start, queryMs, queryCpuMs: (await readProcessStat(child.pid ?? 0))?.cpuMs ?? 0 };
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

/** Returns the settings of all functions. No address is that of AWS. */
function environment(url: string): Record<string, string> {
  const nowhere = 'http://127.0.0.1:9';
  return {
    DATABASE_URL: url,
    ...{ MILLRACE_SQS_ENDPOINT: nowhere, MILLRACE_LAMBDA_ENDPOINT: nowhere, AWS_REGION: 'us-east-1' },
    ...{ MILLRACE_STAGE: 'cold', MILLRACE_QUEUE_URL: `${nowhere}/0/cold`, MILLRACE_QUEUE_URL_PREFIX: `${nowhere}/0/` },
    ...{ MILLRACE_DISPATCHER_FUNCTION: 'cold', MILLRACE_API_AUTH: 'api-key' },
    ...{ MILLRACE_MIGRATIONS: 'migrations', MILLRACE_RUNTIME_SECRET: 'cold' },
    ...{ SMTP_URL: 'smtp://127.0.0.1:9' },
  };
}

import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '../postgres/postgres.ts';
import type { Children } from '../processes/children.ts';
import type { StartServer } from '../processes/kept-ports.ts';
import { startOnSamePort } from '../processes/ports.ts';
import { type ServiceProcess, startService } from '../processes/service-process.ts';
import { type Supervised, supervise } from '../processes/supervise.ts';
import { type FileServer, startFileServer } from './files.ts';
import { givenPostgres, type StackPostgres } from './given-postgres.ts';
import type { SqsServer } from './other-sqs.ts';

/** The servers that replace the database, SQS, the mail provider and the file storage of a deployment. */
export interface Services {
  readonly postgres: StackPostgres;
  readonly sqs: SqsServer;
  readonly mailbox: Supervised<ServiceProcess>;
  readonly files: FileServer;
  readonly mailFolder: string;
  readonly filesFolder: string;
  close(): Promise<void>;
}

export interface ServicesOptions {
  readonly children: Children;
  /** Postgres to use instead of a server that the stack starts, as its owner. */
  readonly databaseUrl?: string | undefined;
  readonly startServer: StartServer;
  /** Server to use instead of the emulator. */
  readonly otherSqs: SqsServer | undefined;
  /** The project's folder `.millrace`. */
  readonly data: string;
  readonly printLine: (line: string) => void;
  /** Fired when every child process is being killed. */
  readonly halt: AbortSignal;
  /** Fired when the stack stops. */
  readonly stop: AbortSignal;
}

const DATA_REFUSED = /^Postgres did not start|contains no Postgres data/;
/** SQLSTATEs for files that are missing, unreadable or corrupted. */
const DAMAGE = /^(58|XX)/;

/** Starts the servers. A server that dies is restarted on the same port with the same data. */
export async function openServices(options: ServicesOptions): Promise<Services> {
  const { data, otherSqs, databaseUrl } = options;
  const mailFolder = join(data, 'mail');
  const filesFolder = join(data, 'files');
  const [postgres, sqs, mailbox, files] = await allOrNone([
    databaseUrl === undefined ? openPostgres(options) : givenPostgres(databaseUrl),
    otherSqs ?? openSqs(options),
    openService('mailbox', ['--folder', mailFolder], options),
    openFiles(filesFolder, options),
  ]);
  return {
    ...{ postgres, sqs, mailbox, files, mailFolder, filesFolder },
    close: async () => {
      await Promise.all([sqs.stop(), mailbox.stop(), files.stop(), postgres.stop()]);
    },
  };
}

type Stoppable = { stop(): Promise<void> };

/** Waits for all starts; if one fails, stops the others and throws its error. */
async function allOrNone<T extends readonly (Promise<Stoppable> | Stoppable)[]>(starts: readonly [...T]) {
  const ends = await Promise.allSettled(starts);
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') {
    await Promise.all(ends.map((end) => (end.status === 'fulfilled' ? end.value.stop() : undefined)));
    throw failed.reason;
  }
  return Promise.all(starts);
}

async function openPostgres({
  children,
  data,
  startServer,
  printLine,
  halt,
  stop,
}: ServicesOptions): Promise<Supervised<PostgresServer>> {
  const start = (port: number) => startPostgres({ children, folder: join(data, 'postgres'), port });
  const first = await startServer('postgres', start).catch((error: unknown) => {
    throw withAdvice(error);
  });
  return supervise(first, () => startOnSamePort(start, first.port), { name: 'Postgres', printLine, halt, stop });
}

/** Adds the command that resolves a failure caused by damaged data; the server's own message does not name it. */
function withAdvice(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isDamage = 'code' in error && DAMAGE.test(String(error.code));
  if (!isDamage && !DATA_REFUSED.test(error.message)) return error;
  const sentence = `${error.message.replace(/\.$/, '')}; npx millrace dev --fresh deletes the data and starts from scratch`;
  return new Error(sentence, { cause: error });
}

async function openSqs(options: ServicesOptions): Promise<SqsServer> {
  const server = await openService('sqs', ['--data', join(options.data, 'sqs.sqlite')], options);
  return { endpoint: `http://127.0.0.1:${server.current().port}`, ours: true, stop: () => server.stop() };
}

async function openService(
  name: 'sqs' | 'mailbox',
  args: readonly string[],
  { children, startServer, printLine, halt, stop }: ServicesOptions,
): Promise<Supervised<ServiceProcess>> {
  const start = (port: number) => startService(children, name, ['--port', String(port), ...args]);
  const first = await startServer(name, start);
  return supervise(first, () => startOnSamePort(start, first.port), { name, printLine, halt, stop });
}

async function openFiles(folder: string, { startServer }: ServicesOptions): Promise<FileServer & Stoppable> {
  const server = await startServer('files', (port) => startFileServer({ port, folder }));
  return { ...server, stop: () => server.close() };
}

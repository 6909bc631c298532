import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '../postgres/postgres.ts';
import type { Children } from '../processes/children.ts';
import { startOnUsualPort } from '../processes/ports.ts';
import { type ServiceProcess, startService } from '../processes/service-process.ts';
import { type Supervised, supervise } from '../processes/supervise.ts';
import { type FileServer, startFileServer } from './files.ts';
import type { SqsServer } from './other-sqs.ts';

/** The servers that stand in for what AWS, a mail provider and S3 are in a deployment. */
export interface Services {
  readonly postgres: Supervised<PostgresServer>;
  readonly sqs: SqsServer;
  readonly mailbox: Supervised<ServiceProcess>;
  readonly files: FileServer;
  readonly mailFolder: string;
  readonly filesFolder: string;
  close(): Promise<void>;
}

export interface ServicesOptions {
  readonly children: Children;
  /** In place of our emulator. */
  readonly otherSqs: SqsServer | undefined;
  /** `.millrace` of the project. */
  readonly data: string;
  readonly say: (line: string) => void;
  /** Fired when everything is being killed. */
  readonly halt: AbortSignal;
}

const DATA_REFUSED = /^Postgres did not start|holds no Postgres data/;
/** SQLSTATEs of files that are missing, unreadable or corrupted. */
const DAMAGE = /^(58|XX)/;

/** Starts the servers; each that dies is started again on the same port with the same data. */
export async function openServices(options: ServicesOptions): Promise<Services> {
  const { data, say, otherSqs } = options;
  const mailFolder = join(data, 'mail');
  const filesFolder = join(data, 'files');
  const [postgres, sqs, mailbox, files] = await allOrNone([
    openPostgres(options),
    otherSqs ?? openSqs(options),
    openService('mailbox', ['--folder', mailFolder], options),
    openFiles(filesFolder, say),
  ]);
  return {
    ...{ postgres, sqs, mailbox, files, mailFolder, filesFolder },
    close: async () => {
      await Promise.all([sqs.stop(), mailbox.stop(), files.stop(), postgres.stop()]);
    },
  };
}

type Stoppable = { stop(): Promise<void> };

/** Waits for all; when one fails, the others are stopped before its error is thrown. */
async function allOrNone<T extends readonly (Promise<Stoppable> | Stoppable)[]>(starts: readonly [...T]) {
  const ends = await Promise.allSettled(starts);
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') {
    await Promise.all(ends.map((end) => (end.status === 'fulfilled' ? end.value.stop() : undefined)));
    throw failed.reason;
  }
  return Promise.all(starts);
}

async function openPostgres({ children, data, say, halt }: ServicesOptions): Promise<Supervised<PostgresServer>> {
  const start = (port: number) => startPostgres({ children, folder: join(data, 'postgres'), port });
  const first = await startOnUsualPort('postgres', start, say).catch((error: unknown) => {
    throw withWayOut(error);
  });
  return supervise(first, () => start(first.port), { name: 'Postgres', say, halt });
}

/** What a server says of damaged data helps nobody who only wants to go on. */
function withWayOut(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isDamage = 'code' in error && DAMAGE.test(String(error.code));
  if (!isDamage && !DATA_REFUSED.test(error.message)) return error;
  const sentence = `${error.message.replace(/\.$/, '')}; npm start -- --fresh begins anew and throws the data away`;
  return new Error(sentence, { cause: error });
}

async function openSqs(options: ServicesOptions): Promise<SqsServer> {
  const server = await openService('sqs', ['--data', join(options.data, 'sqs.sqlite')], options);
  return { endpoint: `http://127.0.0.1:${server.current().port}`, ours: true, stop: () => server.stop() };
}

async function openService(
  name: 'sqs' | 'mailbox',
  args: readonly string[],
  { children, say, halt }: ServicesOptions,
): Promise<Supervised<ServiceProcess>> {
  const start = (port: number) => startService(children, name, ['--port', String(port), ...args]);
  const first = await startOnUsualPort(name, start, say);
  return supervise(first, () => start(first.port), { name, say, halt });
}

async function openFiles(folder: string, say: (line: string) => void): Promise<FileServer & Stoppable> {
  const server = await startOnUsualPort('files', (port) => startFileServer({ port, folder }), say);
  return { ...server, stop: () => server.close() };
}

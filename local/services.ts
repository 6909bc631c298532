import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Children } from './children.ts';
import { type FileServer, startFileServer } from './files.ts';
import { freePort } from './ports.ts';
import { type PostgresServer, startPostgres } from './postgres.ts';
import { type ServiceProcess, startService } from './service-process.ts';
import { type Supervised, supervise } from './supervise.ts';

/** The servers that stand in for what AWS, a mail provider and S3 are in a deployment. */
export interface Services {
  readonly postgres: Supervised<PostgresServer>;
  readonly sqs: Supervised<ServiceProcess>;
  readonly mailbox: Supervised<ServiceProcess>;
  readonly files: FileServer;
  readonly mailFolder: string;
  readonly filesFolder: string;
  close(): Promise<void>;
}

export interface ServicesOptions {
  readonly children: Children;
  /** `.millrace` of the project. */
  readonly data: string;
  readonly say: (line: string) => void;
}

/** Preferred ports; a taken one moves to the next that is free. */
const PORTS = { postgres: 54_329, sqs: 9_324, mailbox: 2_525, files: 8_378, lambda: 9_325 } as const;

/** A free port for one of our servers; says so when it is not the usual one. */
export async function portFor(name: keyof typeof PORTS, say: (line: string) => void): Promise<number> {
  // The usual ports of the others stay theirs.
  const others = Object.values(PORTS).filter((port) => port !== PORTS[name]);
  const port = await freePort(PORTS[name], others);
  if (port !== PORTS[name]) say(`port ${PORTS[name]} is taken, ${name} listens on ${port}`);
  return port;
}

/** Starts the servers; each that dies is started again on the same port with the same data. */
export async function openServices({ children, data, say }: ServicesOptions): Promise<Services> {
  await mkdir(data, { recursive: true });
  const mailFolder = join(data, 'mail');
  const filesFolder = join(data, 'files');
  const [postgres, sqs, mailbox, files] = await Promise.all([
    openPostgres({ children, data, say }),
    openService('sqs', ['--data', join(data, 'sqs.sqlite')], { children, say }),
    openService('mailbox', ['--folder', mailFolder], { children, say }),
    portFor('files', say).then((port) => startFileServer({ port, folder: filesFolder })),
  ]);
  return {
    ...{ postgres, sqs, mailbox, files, mailFolder, filesFolder },
    close: async () => {
      await Promise.all([sqs.stop(), mailbox.stop(), files.close(), postgres.stop()]);
    },
  };
}

async function openPostgres({ children, data, say }: ServicesOptions): Promise<Supervised<PostgresServer>> {
  const wanted = await portFor('postgres', say);
  let port = wanted;
  const start = async (): Promise<PostgresServer> => {
    const server = await startPostgres({ children, folder: join(data, 'postgres'), port });
    port = server.port;
    return server;
  };
  return supervise('Postgres', start, say);
}

async function openService(
  name: 'sqs' | 'mailbox',
  args: readonly string[],
  { children, say }: Omit<ServicesOptions, 'data'>,
): Promise<Supervised<ServiceProcess>> {
  const port = await portFor(name, say);
  return supervise(name, () => startService(children, name, ['--port', String(port), ...args]), say);
}

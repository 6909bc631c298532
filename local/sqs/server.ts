import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Broker } from './broker/broker.ts';
import { createMemoryJournal } from './broker/journal.ts';
import { answerRequest } from './protocol.ts';
import { createLongPolls } from './queue/long-polls.ts';

// Imported as a module, node:http also loads the WebSocket client: 30 ms and 10 MB that a start can do without.
const { createServer } = process.getBuiltinModule('node:http');

export interface SqsOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** SQLite file that queues and messages outlive the process in; without it they are kept in memory. */
  readonly dataFile?: string;
  /** Milliseconds since the epoch; for tests. */
  readonly clock?: () => number;
  /** Default us-east-1. */
  readonly region?: string;
  /** Default 000000000000. */
  readonly accountId?: string;
}

export interface SqsEmulator {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  readonly port: number;
  /** Ends waiting receives with no message, keeps what is to be kept, closes every connection. */
  close(): Promise<void>;
}

/**
 * Serves Amazon SQS's JSON 1.0 protocol on the loopback address.
 * @throws Error with code EADDRINUSE when the port is taken, or of SQLite when the data file cannot be used
 */
export async function startSqs(options: SqsOptions = {}): Promise<SqsEmulator> {
  const broker = await openBroker(options);
  const server = createServer((request, response) => void answerRequest(broker, request, response));
  // SDK clients keep idle connections for long; closing them here races with their next request.
  server.keepAliveTimeout = 0;
  const port = await listen(server, options.port ?? 0).catch(async (error: unknown) => {
    await broker.journal.close();
    throw error;
  });
  broker.endpoint = `http://127.0.0.1:${port}`;
  return { endpoint: broker.endpoint, port, close: () => close(broker, server) };
}

/** The queues without the server, as they are in memory or in the data file. */
export async function openBroker(options: SqsOptions): Promise<Broker> {
  const now = options.clock ?? Date.now;
  const broker: Broker = {
    region: options.region ?? 'us-east-1',
    accountId: options.accountId ?? '000000000000',
    now,
    queues: new Map(),
    deletedAt: new Map(),
    tasks: [],
    journal: createMemoryJournal(),
    polls: createLongPolls(now),
    endpoint: '',
    lastSeq: 0,
    stopped: false,
  };
  if (options.dataFile !== undefined) {
    // Loaded only when wanted: SQLite costs several milliseconds at the start.
    const { openStore } = await import('./store/store.ts');
    openStore(broker, options.dataFile);
  }
  return broker;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

async function close(broker: Broker, server: Server): Promise<void> {
  if (broker.stopped) return;
  broker.stopped = true;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  broker.polls.close();
  await broker.journal.committed();
  // One turn for the answers of the receives that were waiting.
  await new Promise((resolve) => setImmediate(resolve));
  server.closeAllConnections();
  await closed;
  await broker.journal.close();
}

import type { Server } from 'node:http';
import { listenOnLoopback } from '../loopback/loopback-server.ts';
import type { Broker } from './broker/broker.ts';
import { createMemoryJournal } from './broker/journal.ts';
import { answerRequest } from './protocol.ts';
import { createLongPolls } from './queue/long-polls.ts';

export interface SqsOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** SQLite file in which queues and messages survive a restart; by default they are kept in memory. */
  readonly dataFile?: string;
  /** Returns epoch milliseconds; for tests. */
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
  /** Ends waiting receives without messages, writes pending changes and closes every connection. */
  close(): Promise<void>;
}

/**
 * Serves the JSON 1.0 protocol of Amazon SQS on the loopback address.
 * @throws Error with code EADDRINUSE if the port is in use, or an SQLite error if the data file cannot be used
 */
export async function startSqs(options: SqsOptions = {}): Promise<SqsEmulator> {
  const broker = await openBroker(options);
  const { server, port, url } = await listenOnLoopback(options.port ?? 0, (request, response) => {
    void answerRequest(broker, request, response);
  }).catch(async (error: unknown) => {
    await broker.journal.close();
    throw error;
  });
  // SDK clients keep idle connections; a server that closes one races with the client's next request.
  server.keepAliveTimeout = 0;
  broker.endpoint = url;
  return { endpoint: url, port, close: () => close(broker, server) };
}

/** Opens the queues without the server, in memory or from the data file. */
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
    // Loaded only if used: SQLite costs several milliseconds at the start.
    const { openStore } = await import('./store/store.ts');
    openStore(broker, options.dataFile);
  }
  return broker;
}

async function close(broker: Broker, server: Server): Promise<void> {
  if (broker.stopped) return;
  broker.stopped = true;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  broker.polls.close();
  await broker.journal.committed();
  // Wait one turn for the responses to the waiting receives.
  await new Promise((resolve) => setImmediate(resolve));
  server.closeAllConnections();
  await closed;
  await broker.journal.close();
}

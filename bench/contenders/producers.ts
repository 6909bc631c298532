import { Logger, makeWorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { enqueue } from '../../core/enqueue/enqueue.ts';
import { prepare } from './millrace.ts';

/** Enqueues jobs one by one, each in a transaction of its own, by the system's own call. */
export interface Producers {
  /** Called for as many jobs at the same time as there are connections. */
  send(id: number): Promise<unknown>;
  close(): Promise<unknown>;
}

type OpenProducers = (connectionString: string, connections: number) => Promise<Producers>;

/** Each opens its system in an empty database. */
export const PRODUCERS: Readonly<Record<string, OpenProducers>> = {
  millrace: openMillrace,
  'pg-boss': openPgBoss,
  'graphile-worker': openGraphile,
};

async function openMillrace(connectionString: string, connections: number): Promise<Producers> {
  const { db, definition } = await prepare(connectionString, 10);
  await db.close();
  const pool = await openPool(connectionString, connections);
  return { send: (id) => enqueue(pool, definition, { id }), close: () => pool.end() };
}

async function openPgBoss(connectionString: string, connections: number): Promise<Producers> {
  const boss = new PgBoss({ connectionString, max: connections, supervise: false, schedule: false });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue('no_op');
  return { send: (id) => boss.send('no_op', { id }), close: () => boss.stop({ graceful: false, close: true }) };
}

async function openGraphile(connectionString: string, connections: number): Promise<Producers> {
  const pgPool = await openPool(connectionString, connections);
  const utils = await makeWorkerUtils({ pgPool, logger: new Logger(() => () => undefined) });
  await utils.migrate();
  return {
    send: (id) => utils.addJob('no_op', { id }),
    close: async () => {
      await utils.release();
      await pgPool.end();
    },
  };
}

async function openPool(connectionString: string, max: number): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString, max });
  const report = (error: Error) => console.error(error.message);
  return pool.on('error', report).on('connect', (client) => client.on('error', report));
}

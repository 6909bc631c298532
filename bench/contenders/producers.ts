import { enqueue } from '../../core/enqueue/enqueue.ts';
import { openGraphile } from './graphile-worker.ts';
import { prepare } from './millrace.ts';
import { closeBoss, openBoss, QUEUE } from './pg-boss.ts';
import { openPool } from './pool.ts';

/** Enqueues jobs one by one, each in a transaction of its own, by the system's own call. */
export interface Producers {
  /** Called for as many jobs at the same time as there are connections. */
  send(id: number): Promise<unknown>;
  close(): Promise<unknown>;
}

export type OpenProducers = (connectionString: string, connections: number) => Promise<Producers>;

/** Each opens its system in an empty database. */
export const PRODUCERS = {
  millrace: fromMillrace,
  'pg-boss': fromPgBoss,
  'graphile-worker': fromGraphile,
} satisfies Record<string, OpenProducers>;

async function fromMillrace(connectionString: string, connections: number): Promise<Producers> {
  const { db, definition } = await prepare(connectionString, 10);
  await db.close();
  const pool = openPool(connectionString, connections);
  return { send: (id) => enqueue(pool, definition, { id }), close: () => pool.end() };
}

async function fromPgBoss(connectionString: string, connections: number): Promise<Producers> {
  const boss = await openBoss(connectionString, connections);
  return { send: (id) => boss.send(QUEUE, { id }), close: () => closeBoss(boss) };
}

async function fromGraphile(connectionString: string, connections: number): Promise<Producers> {
  const { utils, close } = await openGraphile(connectionString, connections);
  return { send: (id) => utils.addJob('no_op', { id }), close };
}

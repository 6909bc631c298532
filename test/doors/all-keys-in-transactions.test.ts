import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { enqueueAll } from '../../core/enqueue/enqueue.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { openApi } from '../api/world.ts';
import { deploy } from '../support/runtime-engine.ts';

const { pool, db } = await openApi();

const handler = defineHandler({ jobType: 'index_record', payload: z.unknown(), run: async () => undefined });
await deploy(db, ...['', 'graph', 'vector'].map((routingKey) => ({ jobType: 'index_record', routingKey })));

/** Runs the work in a transaction of its own connection, which ends at the latest with the work. */
async function inTransaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    return await work(client);
  } finally {
    await client.query('rollback').finally(() => client.release());
  }
}

const count = async () => (await pool.query('select count(*)::integer as jobs from millrace.jobs')).rows[0].jobs;

describe.each(['millrace.enqueue', 'millrace.enqueue_many', 'enqueueAll'])('in a transaction, %s', (name) => {
  const call = async (client: Pick<pg.Pool, 'query'>, uniqueKey: string | null): Promise<{ rows: unknown[] }> => {
    const json = JSON.stringify([{ job_type: 'index_record', routing_key: '*', unique_key: uniqueKey }]);
    if (name === 'millrace.enqueue_many') return client.query('select * from millrace.enqueue_many($1)', [json]);
    if (name === 'enqueueAll') {
      const options = uniqueKey === null ? {} : { uniqueKey };
      return { rows: await enqueueAll(client, handler, { n: 1 }, options) };
    }
    const text = `select * from millrace.enqueue('index_record', routing_key => '*', unique_key => $1)`;
    return client.query(text, [uniqueKey]);
  };

  it.each([null, 'rolled back'])('leaves no job after a rollback (unique key %s)', async (key) => {
    const before = await count();

    const { rows } = await inTransaction((client) => call(client, key));

    expect(rows).toHaveLength(3);
    expect(await count()).toBe(before);
  });

  it('is open to a login that may only enqueue', async () => {
    const { rows } = await inTransaction(async (client) => {
      await client.query('set local role millrace_app');
      return call(client, null);
    });

    expect(rows).toHaveLength(3);
  });

  it('reaches a handler that is deployed before the statement, and none that is deployed after it', async () => {
    const add = (key: string) =>
      pool.query(
        `insert into millrace.handlers
           select (jsonb_populate_record(h, jsonb_build_object('routing_key', $1::text))).* from millrace.handlers h
             where job_type = 'index_record' and routing_key = ''`,
        [key],
      );

    const { rows } = await inTransaction(async (client) => {
      await add('between');
      const answer = await call(client, null);
      await add('later');
      return answer;
    });
    const later = await call(pool, null);
    await pool.query(`delete from millrace.handlers where routing_key in ('between', 'later')`);

    expect([rows.length, later.rows.length]).toEqual([4, 5]);
  });

  it('waits for another transaction with the unique key of one handler without a deadlock', async () => {
    const key = `waits ${name}`;
    const insert = (client: pg.PoolClient, routingKey: string) =>
      client.query(`select millrace.enqueue('index_record', routing_key => $1, unique_key => $2)`, [routingKey, key]);

    const { rows } = await inTransaction((two) =>
      inTransaction(async (one) => {
        await insert(one, 'graph');
        const waiting = call(two, key);
        waiting.catch(() => undefined);
        await expect.poll(() => waitsFor(two)).toBe(true);
        await insert(one, 'vector');
        await one.query('commit');
        return waiting;
      }),
    );

    expect(rows).toMatchObject([{ deduplicated: false }, { deduplicated: true }, { deduplicated: true }]);
  });
});

async function waitsFor(client: object): Promise<boolean> {
  const { processID } = client as { processID: number };
  const { rows } = await pool.query(`select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`, [
    processID,
  ]);
  return rows.length === 1;
}

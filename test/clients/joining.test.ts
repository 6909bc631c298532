import { type EnqueueClient, enqueue, enqueueAll, enqueueMany } from 'millrace';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENTS, type OpenClient } from './clients.ts';
import { anything, failureOf, indexPage, messages, openShop } from './shop.ts';

const { url, pool, empty, jobs, orders } = await openShop();

/** Characters and numbers that a client could replace or round. */
const HOSTILE = {
  text: `'?' $1 :name \\? ?? {} "é" \u{1F600}`,
  wide: '9007199254740993',
  deep: [{ price: 1.1, no: null }],
};
const RUN_AT = new Date('2030-01-02T03:04:05.678Z');

/** Enqueues jobs with all options in all ways. */
async function enqueueEverything(client: EnqueueClient) {
  const common = { priority: 0, maxAttempts: 7, groupKey: `customer '?' 1` };
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  return [
    await enqueue(client, anything, HOSTILE),
    await enqueue(client, anything, {}, { ...common, runAt: RUN_AT, startBy: new Date(+RUN_AT + 60_000), traceparent }),
    await enqueue(client, anything, {}, { delay: '2d', startBy: '1.5m', uniqueKey: 'a?$1' }),
    await enqueue(client, anything, {}, { uniqueKey: 'a?$1' }),
    ...(await enqueueMany(client, [
      { handler: anything, payload: HOSTILE },
      { handler: anything, payload: {}, delay: '1.5h', startBy: '10m', uniqueKey: 'a?$1' },
      { handler: anything, payload: {}, runAt: RUN_AT, ...common },
    ])),
    ...(await enqueueAll(client, indexPage, {})),
  ];
}

/** Returns the results and the jobs of `enqueueEverything`, with ids counted from the first. */
async function everything(client: OpenClient) {
  await empty();
  const results = await client.transaction(enqueueEverything);
  const first = BigInt(results[0]!.id);
  return { results: results.map((job) => ({ ...job, id: String(BigInt(job.id) - first) })), jobs: await jobs() };
}

describe.each(Object.entries(CLIENTS))('a transaction of %s', (_name, open) => {
  let client: OpenClient;

  beforeAll(async () => {
    client = await open(url);
  });
  afterAll(() => client.close());

  it('commits the job of the documented example with the row of the application', async () => {
    const order = { name: 'A-1', cents: 4200 };

    const job = await client.placeOrder(order);

    const { rows } = await pool.query('select id, payload from millrace.jobs');
    expect(job).toEqual({ id: rows[0].id, deduplicated: false, replaced: false });
    expect(rows).toEqual([{ id: job.id, payload: order }]);
    expect(await orders()).toEqual([order]);
  });

  it('shows the job to no other session before the commit', async () => {
    const during = await client.transaction(async (tx) => {
      const { id } = await enqueue(tx, anything, {});
      const result = await tx.query('select status from millrace.my_jobs where id = $1', [id]);
      return { own: Array.isArray(result) ? result : result.rows, others: await jobs() };
    });

    expect(during).toEqual({ own: [{ status: 'pending' }], others: [] });
    expect(await jobs()).toHaveLength(1);
  });

  it('leaves neither the job nor the row of the application after a rollback', async () => {
    await pool.query(`insert into orders (name, cents) values ('A-1', 1)`);

    const repeated = await failureOf(client.placeOrder({ name: 'A-1', cents: 4200 }));
    const thrown = await failureOf(
      client.transaction(async (tx) => {
        await enqueueEverything(tx);
        throw new Error('the card is unknown');
      }),
    );

    expect(messages(repeated)).toMatch(/duplicate key|unique constraint/i);
    expect(messages(thrown)).toContain('the card is unknown');
    expect([await jobs(), await orders()]).toEqual([[], [{ name: 'A-1', cents: 1 }]]);
  });

  it('inserts the jobs that pg inserts, and returns the same results', async () => {
    const reference = await CLIENTS.pg!(url);
    const expected = await everything(reference);
    await reference.close();

    const found = await everything(client);

    expect(found).toEqual(expected);
    expect(found.results.map(({ deduplicated }) => deduplicated)).toContain(true);
    expect(found.jobs).toHaveLength(7);
  });
});

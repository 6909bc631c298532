import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { enqueueAll } from '../../core/enqueue/enqueue.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { openBothWays } from '../cli/backend/api-world.ts';
import { deploy } from '../support/runtime-engine.ts';

const { pool, db, ask, byApi, byDatabase } = await openBothWays();

const KEYS = Array.from({ length: 50 }, (_, n) => `k${String(n).padStart(2, '0')}`);
await deploy(
  db,
  { jobType: 'index_record', maxAttempts: 5 },
  { jobType: 'index_record', routingKey: 'graph', maxAttempts: 7 },
  { jobType: 'index_record', routingKey: 'vector', maxAttempts: 2 },
  { jobType: 'index_records', routingKey: 'other' },
  { jobType: 'single' },
  { jobType: 'keyed', routingKey: 'only' },
  ...KEYS.map((routingKey) => ({ jobType: 'wide', routingKey })),
);

interface Wish {
  readonly jobType?: string;
  readonly uniqueKey?: string;
  readonly maxAttempts?: number;
}
interface Made {
  readonly id: string;
  readonly deduplicated: boolean;
}
type Answer = readonly Made[] | string;

const made = (rows: readonly Made[]) => rows.map(({ id, deduplicated }) => ({ id: `${id}`, deduplicated }));
const refused = (error: Error) => error.message;
const typeOf = ({ jobType = 'index_record' }: Wish) => jobType;
const itemOf = ({ uniqueKey, maxAttempts, ...wish }: Wish) =>
  JSON.stringify({
    ...{ job_type: typeOf(wish), payload: { n: 1 }, routing_key: '*', unique_key: uniqueKey },
    max_attempts: maxAttempts,
  });
const argumentsOf = (wish: Wish) => [
  ...['enqueue', typeOf(wish), '{"n": 1}', '--routing-key', '*', '--json'],
  ...(wish.uniqueKey === undefined ? [] : ['--unique-key', wish.uniqueKey]),
  ...(wish.maxAttempts === undefined ? [] : ['--max-attempts', `${wish.maxAttempts}`]),
];
const typed = async (run: typeof byApi, wish: Wish) => {
  const { code, stdout, stderr } = await run(argumentsOf(wish));
  return code === 0 ? made(JSON.parse(stdout).items) : stderr;
};
const handlerOf = (jobType: string) =>
  defineHandler({ jobType, payload: z.object({ n: z.number() }), run: async () => undefined });

/** Enqueues for all routing keys; returns the jobs in the order of the answer, or the error. */
const DOORS: Record<string, (wish: Wish) => Promise<Answer>> = {
  'millrace.enqueue': (wish) =>
    pool
      .query(
        `select * from millrace.enqueue($1, '{"n": 1}', routing_key => '*', unique_key => $2, max_attempts => $3)`,
        [typeOf(wish), wish.uniqueKey, wish.maxAttempts],
      )
      .then(({ rows }) => made(rows), refused),
  'millrace.enqueue_many': (wish) =>
    pool
      .query('select * from millrace.enqueue_many($1)', [`[${itemOf(wish)}]`])
      .then(({ rows }) => made(rows), refused),
  enqueueAll: ({ jobType = 'index_record', ...options }) =>
    enqueueAll(pool, handlerOf(jobType), { n: 1 }, options).then(made, refused),
  'POST /jobs/bulk': async (wish) => {
    const { status, body } = await ask('/jobs/bulk', { method: 'POST', text: `{"jobs": [${itemOf(wish)}]}` });
    return status === 201 ? made(body.items) : body.detail;
  },
  'millrace enqueue': (wish) => typed(byDatabase, wish),
  'millrace enqueue --api-url': (wish) => typed(byApi, wish),
};
const doors = Object.entries(DOORS);

async function rowsOf(answer: Answer) {
  if (typeof answer === 'string') throw new Error(answer);
  const { rows } = await pool.query(
    `select j.job_type, j.routing_key, j.max_attempts, j.payload, j.unique_key, j.status
       from unnest($1::bigint[]) with ordinality w(id, place) join millrace.jobs j on j.id = w.id order by w.place`,
    [answer.map(({ id }) => id)],
  );
  return rows;
}

const count = async () => (await pool.query('select count(*)::integer as jobs from millrace.jobs')).rows[0].jobs;

describe.each(doors)('routing key * of %s', (name, door) => {
  it('inserts one job for each deployed handler of the job type, with the attempts of that handler', async () => {
    const answer = await door({});

    const same = { job_type: 'index_record', payload: { n: 1 }, unique_key: null, status: 'pending' };
    expect(await rowsOf(answer)).toEqual([
      { ...same, routing_key: '', max_attempts: 5 },
      { ...same, routing_key: 'graph', max_attempts: 7 },
      { ...same, routing_key: 'vector', max_attempts: 2 },
    ]);
  });

  it('gives each job the attempts that the producer states', async () => {
    const rows = await rowsOf(await door({ maxAttempts: 9 }));

    expect(rows.map((row) => row.max_attempts)).toEqual([9, 9, 9]);
  });

  it.each([
    ['single', ['']],
    ['keyed', ['only']],
    ['wide', KEYS],
  ])('reaches exactly the handlers of %s', async (jobType, keys) => {
    const rows = await rowsOf(await door({ jobType }));

    expect(rows.map((row) => row.routing_key)).toEqual(keys);
  });

  it.each([undefined, 'k'])('is refused without a deployed handler, with what to do (unique key %s)', async (key) => {
    const before = await count();

    const answer = await door({ jobType: 'absent', ...(key !== undefined && { uniqueKey: key }) });

    expect(answer).toContain('no handler of the job type absent is deployed: deploy one, or name a routing key');
    expect(await count()).toBe(before);
  });

  it('deduplicates each job by itself', async () => {
    const uniqueKey = `of ${name}`;
    const { rows } = await pool.query(
      `select id::text from millrace.enqueue('index_record', routing_key => 'graph', unique_key => $1)`,
      [uniqueKey],
    );

    const first = await door({ uniqueKey });
    const second = await door({ uniqueKey });

    const [one, two, three] = first as Made[];
    expect(first).toMatchObject([{ deduplicated: false }, { deduplicated: true }, { deduplicated: false }]);
    expect(two?.id).toBe(rows[0].id);
    expect(second).toEqual([one, two, three].map((job) => ({ id: job?.id, deduplicated: true })));
  });

  it('inserts jobs that do not share their fate', async () => {
    const answer = await door({});
    const [, second] = answer as Made[];

    await pool.query('select millrace.cancel($1)', [second?.id]);

    const rows = await rowsOf(answer);
    expect(rows.map(({ status }) => status)).toEqual(['pending', 'cancelled', 'pending']);
  });
});

it.each([[byDatabase], [byApi]])('millrace enqueue prints the ids, one a line', async (run) => {
  const args = ['enqueue', 'index_record', '--routing-key', '*', '--unique-key', `prints ${run === byApi}`];

  const [first, second] = [await run(args), await run(args)];

  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(\d+\n){3}$/), stderr: '' });
  expect(second.stdout).toBe(first.stdout);
  expect(second.stderr).toMatch(/^job \d+ of index_record holds this unique key: nothing was inserted\n/);
});

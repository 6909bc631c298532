import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../support/database.ts';
import { createLogin, deploy, openEngine } from '../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
const login = await createLogin(engine.test, 'millrace_app');
await deploy(db, { jobType: 'mail', maxAttempts: 3 }, { jobType: 'index', routingKey: 'vector', maxAttempts: 9 });
afterAll(async () => {
  await engine.close();
  await login.drop();
});

beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.job_events');
});

const rows = async (columns: string) =>
  (await pool.query(`select ${columns} from millrace.jobs_live order by id`)).rows;
const events = async () =>
  (await pool.query('select event, job_type, status, sum(count)::int as n from millrace.job_events group by 1, 2, 3'))
    .rows;

describe('millrace.enqueue', () => {
  it('returns the id, or that of the unfinished job with the key', async () => {
    const app = await createClient(login.url);

    const first = await app.query(`select * from millrace.enqueue('mail', '{"n":1}', unique_key => 'k')`);
    const second = await app.query(`select * from millrace.enqueue('mail', '{"n":2}', unique_key => 'k')`);

    const [job] = await rows('id, payload');
    expect(first.rows).toEqual([{ id: job.id, deduplicated: false, replaced: false }]);
    expect(second.rows).toEqual([{ id: job.id, deduplicated: true, replaced: false }]);
    expect(job.payload).toEqual({ n: 1 });
    expect(await events()).toEqual([{ event: 'enqueued', job_type: 'mail', status: 'pending', n: 1 }]);
  });

  it('treats null as a missing argument, except for the type', async () => {
    await pool.query(`select * from millrace.enqueue('mail', null, null, null, null, null, null, null)`);

    expect(await rows('payload, priority, max_attempts, routing_key, unique_key, run_at = created_at as now')).toEqual([
      { payload: {}, priority: 5, max_attempts: 3, routing_key: '', unique_key: null, now: true },
    ]);
  });

  it('separates keys of different types and routing keys', async () => {
    const answers = [];
    for (const [type, key] of [
      ['mail', ''],
      ['index', ''],
      ['index', 'vector'],
      ['index', 'vector'],
    ]) {
      const { rows: answer } = await pool.query(
        `select deduplicated from millrace.enqueue($1, routing_key => $2, unique_key => 'k')`,
        [type, key],
      );
      answers.push(answer[0].deduplicated);
    }

    expect(answers).toEqual([false, false, false, true]);
  });
});

describe('millrace.enqueue_many', () => {
  const many = (jobs: unknown) =>
    pool.query('select "position"::int, id, deduplicated from millrace.enqueue_many($1) order by 1', [
      JSON.stringify(jobs),
    ]);

  it('returns every position for any mix of keys', async () => {
    const job = fc.record(
      {
        job_type: fc.constantFrom('mail', 'index'),
        payload: fc.option(fc.record({ n: fc.integer() })),
        routing_key: fc.option(fc.constantFrom('', 'vector')),
        unique_key: fc.option(fc.constantFrom('a', 'b', 'c')),
        priority: fc.option(fc.integer({ min: 0, max: 9 })),
        max_attempts: fc.option(fc.integer({ min: 1, max: 9 })),
      },
      { requiredKeys: ['job_type'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 12 }), async (jobs) => {
        await pool.query('delete from millrace.jobs_live');

        const { rows: answers } = await many(jobs);

        expect(answers.map(({ position }) => position)).toEqual(jobs.map((_, index) => index));
        const stored = new Map((await rows('*')).map((row) => [row.id, row]));
        const keys = jobs.map((item, n) =>
          item.unique_key ? `${item.job_type}.${item.routing_key ?? ''}.${item.unique_key}` : `${n}`,
        );
        expect(stored.size).toBe(new Set(keys).size);
        for (const [n, item] of jobs.entries()) {
          const row = stored.get(answers[n].id);
          expect(row).toMatchObject({ job_type: item.job_type, routing_key: item.routing_key ?? '' });
          if (answers[n].deduplicated) expect(item.unique_key).toBe(row.unique_key);
          else
            expect(row).toMatchObject({
              priority: item.priority ?? 5,
              payload: item.payload === undefined ? {} : item.payload,
            });
        }
      }),
      { numRuns: 25 },
    );
  });

  it.each([
    [{ job_type: 'mail' }, 'expected a JSON array of jobs, got object'],
    [[{ job_type: 'mail' }, 7], 'job 1: expected an object with job_type, got number'],
    [[{ job_type: 'mail' }, { payload: {} }], 'job 1: expected an object with job_type, got one without it'],
    [[{ job_type: 'mail' }, { job_type: 'mail', status: 'running' }], 'job 1: unknown key status; the keys are '],
    [[{ job_type: 'mail', max_retries: 3 }], 'the keys are group_key, job_type, max_attempts, '],
    [[{ job_type: 'mail' }, { job_type: 'mail', priority: 12 }], 'priority is 0 to 9'],
    [[{ job_type: 'mail', priority: 99_999 }], 'priority is 0 to 9'],
    [[{ job_type: 'mail', priority: '1' }], 'job 0: priority: expected a number, got string'],
    [[{ job_type: 'mail', unique_key: 42 }], 'job 0: unique_key: expected a string, got number'],
    [[{ job_type: 'mail' }, { job_type: 'mail', group_key: {} }], 'job 1: group_key: expected a string, got object'],
    [[{ job_type: 'mail', run_at: 1_900_000_000 }], 'job 0: run_at: expected a string, got number'],
  ])('inserts no job of %j', async (jobs, message) => {
    await expect(many(jobs)).rejects.toThrow(message);

    expect(await rows('id')).toEqual([]);
  });

  it.each([
    [{ payload: { card: '4111' } }, 'got one without it'],
    [{ job_type: 7, payload: { card: '4111' } }, 'got an object whose job_type is of type number'],
    [{ job_type: null, payload: { card: '4111' } }, 'got an object whose job_type is of type null'],
    [['card 4111'], 'got array'],
    ['card 4111', 'got string'],
  ])('names %j by its type, because logs contain the error', async (job, got) => {
    const error = await many([job]).catch((thrown: Error) => thrown);

    expect(error).toMatchObject({ message: `enqueue_many: job 0: expected an object with job_type, ${got}` });
  });

  it('inserts all jobs with new keys in one statement, because each statement has a cost of its own', async () => {
    await many([{ job_type: 'mail', unique_key: 'k-0' }]);
    await pool.query('delete from millrace.job_events');

    const { rows: answers } = await many(
      [0, 1, 2, 3, 3].map((n) => ({ job_type: 'mail', payload: { n }, unique_key: `k-${n}` })),
    );

    expect(answers.filter(({ deduplicated }) => deduplicated).map(({ position }) => position)).toEqual([0, 4]);
    expect((await pool.query('select count from millrace.job_events')).rows).toEqual([{ count: '3' }]);
  });

  it('two callers with the same keys in opposite order both succeed', async () => {
    const keys = Array.from({ length: 40 }, (_, n) => `key-${n}`);
    const spelled = (key: string, n: number) => ({
      job_type: 'mail',
      unique_key: key,
      ...(n % 2 === 0 && { routing_key: '' }),
    });
    const one = keys.map(spelled);
    const other = keys.map((key, n) => spelled(key, n + 1)).reverse();

    const answers = await Promise.all([many(one), many(other), many(one), many(other)]);

    expect(answers.flatMap((answer) => answer.rows).filter(({ deduplicated }) => !deduplicated)).toHaveLength(40);
    expect(await rows('id')).toHaveLength(40);
  });
});

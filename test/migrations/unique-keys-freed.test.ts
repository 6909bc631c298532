import { afterAll, expect, it } from 'vitest';
import { deleteJob } from '../../core/jobs/delete.ts';
import { createClient } from '../support/database.ts';
import { createLogin } from '../support/runtime-engine.ts';
import { openUniqueWorld, STATES } from './unique-world.ts';

const { pool, db, test, appUrl, enqueue, move } = await openUniqueWorld();
const operator = await createLogin(test, 'millrace_operator');
afterAll(() => operator.drop());

const YEAR = `unique_key => 'charge-9', unique_for => '365 days'`;

/** Frees a key as an operator does. */
async function free(key = 'charge-9'): Promise<string> {
  const client = await createClient(operator.url);
  return (await client.query<{ answer: string }>(`select millrace.free_key('mail', $1) as answer`, [key])).rows[0]!
    .answer;
}

const audit = async () =>
  (await pool.query(`select job_id, details from millrace.audit_log where action = 'free_key' order by id`)).rows;

it.each([
  ['has finished', () => move('skipped')],
  ['was deleted after its end', () => move('skipped').then(() => pool.query('delete from millrace.jobs_finished'))],
  ['is not in the table any more', () => pool.query('delete from millrace.jobs_live')],
])('an operator frees a key whose job %s', async (_what, end) => {
  const first = await enqueue(YEAR);
  await end();
  const held = await enqueue(YEAR);
  const before = (await audit()).length;

  const answers = [await free(), await free()];

  const events = (await audit()).slice(before);
  expect(held).toMatchObject({ id: first.id, deduplicated: true });
  expect(answers).toEqual(['freed', 'not_found']);
  expect(await enqueue(YEAR)).toMatchObject({ deduplicated: false });
  expect(events).toEqual([
    { job_id: first.id, details: { job_type: 'mail', routing_key: '', unique_key: 'charge-9' } },
  ]);
});

it.each([YEAR, `unique_key => 'charge-9'`, `unique_key => 'charge-9', unique_until => 'finished'`])(
  'an operator does not free the key of an unfinished job: %s',
  async (options) => {
    const first = await enqueue(options);

    expect(await free()).toBe('held');
    expect(await enqueue(options)).toMatchObject({ id: first.id, deduplicated: true });
  },
);

it('an operator does not free a key that another transaction is giving to its own job', async () => {
  await enqueue(`unique_key => 'charge-9', unique_for => '1 second'`);
  await move('skipped');
  await pool.query(`update millrace.unique_keys set ends_at = now() - interval '1 second'`);
  const client = await createClient(appUrl);
  await client.query('begin');
  const next = await enqueue(YEAR, {}, client);

  const answer = await free();
  await client.query('commit');

  expect([next.deduplicated, answer, await free()]).toEqual([false, 'held', 'held']);
});

it.each(STATES.filter((state) => ['pending', 'failed', 'dead_letter'].includes(state)))(
  'a %s job that is deleted gives its key back',
  async (state) => {
    const first = await enqueue(YEAR);
    await move(state);

    expect(await deleteJob(db, first.id)).toBe('deleted');
    expect(await enqueue(YEAR)).toMatchObject({ deduplicated: false });
  },
);

it('a finished job that is deleted keeps its key until its time is over', async () => {
  const first = await enqueue(YEAR);
  await move('skipped');

  expect(await deleteJob(db, first.id)).toBe('deleted');
  expect(await enqueue(YEAR)).toMatchObject({ id: first.id, deduplicated: true });
});

it.each(['priority => 10', 'max_attempts => 0', `group_key => ''`, `start_by => 'infinity'`])(
  'the error of a replacement with %s names the constraint, and nothing of the other job',
  async (option) => {
    await enqueue(`unique_key => 'charge-9'`, { card: '4111' });
    const client = await createClient(appUrl);
    const replacement = `unique_key => 'charge-9', unique_until => 'dispatched', on_conflict => 'replace', ${option}`;

    const error = await enqueue(replacement, {}, client).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: '23514', constraint: expect.stringMatching(/ is /), detail: undefined });
  },
);

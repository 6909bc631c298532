import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { enqueue } from '../../../core/enqueue/enqueue.ts';
import { DeadLetter, RetryAfter, Skip, Snooze } from '../../../core/handler/chosen-outcome.ts';
import { defineHandler, type RunContext } from '../../../core/handler/handler.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine({ maxAttempts: 3 });
const sendMail = defineHandler({
  jobType: 'send_mail',
  payload: z.object({ to: z.string() }),
  run: async () => undefined,
});

const mails = () =>
  engine.sql<{ to: string }>(`select payload ->> 'to' as to, status, priority, unique_key, on_dead_letter
    from millrace.jobs_live where job_type = 'send_mail' order by 1`);

/** Runs one job whose attempt does this; returns its id. */
async function runOne(work: (context: RunContext<unknown>) => unknown, count = 1): Promise<string[]> {
  const { ids, records } = await engine.deliver(count);
  engine.work = work;
  await engine.run(records);
  return ids;
}

beforeAll(async () => {
  await engine.sql('create table public.refusals (pattern text); grant select on public.refusals to public');
  await engine.sql(`
    create function public.refuse() returns trigger language plpgsql as $$
    begin
      if exists (select from public.refusals r where new.payload::text like r.pattern) then
        raise exception 'refused by a trigger' using errcode = '23514';
      end if;
      return new;
    end $$`);
  await engine.sql('create trigger refuse before insert on millrace.jobs_live for each row execute function refuse()');
});
beforeEach(() => engine.sql('delete from public.refusals'));

describe('a job that an attempt enqueues', () => {
  it('is inserted with the success of the attempt, with all its options', async () => {
    const [id] = await runOne(async (context) => {
      await context.enqueue(sendMail, { to: 'ada' }, { priority: 2, uniqueKey: 'u', onDeadLetter: 'work' });
      await context.enqueue(sendMail, { to: 'bob' }, { delay: '10m' });
      expect(await mails()).toEqual([]);
      return { mails: 2 };
    });

    expect(await engine.state(id!)).toMatchObject({ status: 'succeeded', result: { mails: 2 } });
    expect(await mails()).toEqual([
      { to: 'ada', status: 'pending', priority: 2, unique_key: 'u', on_dead_letter: 'work' },
      { to: 'bob', status: 'pending', priority: 5, unique_key: null, on_dead_letter: null },
    ]);
    const [times] = await engine.sql<{ delay: number }>(
      `select extract(epoch from run_at - created_at)::float8 as delay from millrace.jobs_live where payload ->> 'to' = 'bob'`,
    );
    expect(times?.delay).toBeCloseTo(600, 0);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no'))],
    ['throws RetryAfter', () => Promise.reject(new RetryAfter('1m'))],
    ['returns Snooze', async () => new Snooze('1m')],
    ['throws Skip', () => Promise.reject(new Skip('nothing to do'))],
    ['throws DeadLetter', () => Promise.reject(new DeadLetter('never'))],
  ])('is not inserted if the attempt %s', async (_what, end) => {
    await runOne(async (context) => {
      await context.enqueue(sendMail, { to: 'ada' });
      return end();
    });

    expect(await mails()).toEqual([]);
  });

  it('is inserted even if its call was not awaited', async () => {
    await runOne((context) => void context.enqueue(sendMail, { to: 'ada' }));

    expect(await mails()).toMatchObject([{ to: 'ada' }]);
  });

  it('is inserted once if the response to settle is lost, and once for each job of a batch', async () => {
    const { records } = await engine.deliver(3);
    engine.work = (context) => context.enqueue(sendMail, { to: context.jobId });
    let lost = false;
    const query: typeof engine.db.query = async (text, values) => {
      const answer = await engine.db.query(text, values);
      if (!text.includes('enqueue_follow_ups') || lost) return answer as never;
      lost = true;
      throw Object.assign(new Error('connection lost'), { code: '08006' });
    };

    await engine.run(records, { deps: { db: { ...engine.db, limited: () => ({ query }) } } });

    expect(lost).toBe(true);
    expect((await mails()).map(({ to }) => to).toSorted()).toEqual(engine.runs.toSorted());
  });

  it('may have the unique key of the job that enqueues it, since that job has finished', async () => {
    const { id } = await enqueue(engine.database.pool, engine.definition, {}, { uniqueKey: 'every-hour' });
    await engine.dispatch();
    engine.work = (context) => context.enqueue(engine.definition, {}, { uniqueKey: 'every-hour', delay: '1h' });

    await engine.run(engine.queues.receive('memory://work', 10));

    const next = await engine.sql<{ id: string }>(`select id from millrace.jobs_live where unique_key = 'every-hour'`);
    expect(next).toHaveLength(1);
    expect(next[0]?.id).not.toBe(id);
  });

  it('with an invalid payload or option is refused in the handler, by its name', async () => {
    const errors: string[] = [];
    const [id] = await runOne(async ({ enqueue: follow }) => {
      for (const call of [
        () => follow(sendMail, { to: 1 } as never),
        () => follow(sendMail, { to: 'ada' }, { priority: 10 }),
        () => follow('send_mail' as never, { to: 'ada' } as never),
        () => follow(sendMail, { to: 'ada' }, { runat: new Date() } as never),
      ]) {
        await call().catch((error: Error) => errors.push(error.message));
      }
    });

    expect(errors).toEqual([
      expect.stringMatching(/^send_mail: payload\/to: /),
      expect.stringMatching(/^priority: expected .* 0 to 9/),
      expect.stringMatching(/^handler: expected the definition/),
      expect.stringMatching(/^runat: unknown option/),
    ]);
    expect(await engine.state(id!)).toMatchObject({ status: 'succeeded' });
    expect(await mails()).toEqual([]);
  });

  it('fails the attempt, and the others of the batch succeed, if the database refuses it', async () => {
    await engine.sql(`insert into public.refusals values ('%refused%')`);
    const { ids, records } = await engine.deliver(3);
    engine.work = (context) => context.enqueue(sendMail, { to: context.jobId === ids[1] ? 'refused' : 'ada' });

    await engine.run(records);

    expect(await Promise.all(ids.map(async (id) => (await engine.state(id)).status))).toEqual([
      'succeeded',
      'failed',
      'succeeded',
    ]);
    expect(await engine.state(ids[1]!)).toMatchObject({
      last_error: 'the jobs of this success could not be enqueued: refused by a trigger',
      due_in: expect.closeTo(60, -1),
    });
    expect(await mails()).toHaveLength(2);
  });

  it('waits for a unique key that another transaction holds, and the success with it', async () => {
    const { records } = await engine.deliver(1);
    const other = await createClient(engine.database.url);
    await other.query('begin');
    await other.query(`insert into millrace.jobs (job_type, unique_key) values ('send_mail', 'held')`);
    engine.work = (context) => context.enqueue(sendMail, { to: 'ada' }, { uniqueKey: 'held' });

    const ran = engine.run(records);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const during = await engine.state(engine.runs[0]!);
    await other.query('rollback');
    await ran;

    expect(during.status).toBe('running');
    expect(await mails()).toMatchObject([{ to: 'ada', unique_key: 'held' }]);
  });

  it.each([
    ['succeeded', () => undefined],
    ['failed', () => Promise.reject(new Error('no'))],
    ['been snoozed', () => new Snooze('1h')],
  ])('is refused after the attempt has %s', async (_how, end) => {
    let late: RunContext<unknown> | undefined;
    await runOne((context) => {
      late = context;
      return end();
    });

    await expect(late?.enqueue(sendMail, { to: 'ada' })).rejects.toThrow('the attempt has ended: await enqueue before');
  });

  it('is one of at most 10,000, and a large number has a statement of its own', async () => {
    const [, large] = await runOne(async (context) => {
      const count = context.jobId === engine.runs[1] ? 3_000 : 1;
      for (let n = 0; n < count; n++) await context.enqueue(sendMail, { to: `${n}` });
    }, 3);
    const refused = await runOne(async (context) => {
      for (let n = 0; n <= 10_000; n++) await context.enqueue(sendMail, { to: `${n}` });
    });

    expect(await engine.state(large!)).toMatchObject({ status: 'succeeded' });
    expect(await mails()).toHaveLength(3_002);
    expect(await engine.state(refused[0]!)).toMatchObject({
      last_error: expect.stringContaining('at most 10000 jobs in one attempt'),
    });
  });
});

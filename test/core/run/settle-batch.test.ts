import { expect, it } from 'vitest';
import { createClient } from '../../support/database.ts';
import { hastyTime, openDatabaseEngine } from '../../support/database-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { boom, die, troubled } from './troubled.ts';

const engine = await openDatabaseEngine();

/** An invocation with time for the given number of checks of its time. */
function questions(count: number): () => number {
  let left = count;
  return () => (left-- > 0 ? 600_000 : 0);
}

it('bounces the message of a job that dies, and no other', async () => {
  const { ids, records } = await engine.deliver(4);
  const endings = [boom, () => 1, die, boom];
  engine.work = ({ jobId }) => endings[ids.indexOf(jobId)]!();

  const ran = await engine.run(records);

  expect(ran).toMatchObject({ failed: [records[2]!.messageId], shown: [records[2]!.receiptHandle], exited: false });
  expect(await engine.state(ids[2]!)).toMatchObject({ status: 'dead_letter', message_id: records[2]!.messageId });
});

it('retries until a locked row is free', async () => {
  const { ids, records } = await engine.deliver(3);
  const holder = await createClient(engine.database.url);
  let locked: Promise<unknown> | undefined;
  engine.work = async () => {
    locked ??= holder
      .query('begin')
      .then(() => holder.query('select from millrace.jobs_live where id = $1 for update', [ids[1]]));
    await locked;
  };

  const ran = engine.run(records);
  await eventually(async () => expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded' }));
  const held = await engine.state(ids[1]!);
  await holder.query('rollback');

  expect(held).toMatchObject({ status: 'running' });
  expect(await ran).toMatchObject({ failed: [] });
  expect(await engine.state(ids[1]!)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(engine.runs).toHaveLength(3);
});

it('leaves the message of a row that stays locked until the end of the invocation', async () => {
  const { ids, records } = await engine.deliver(2);
  const holder = await createClient(engine.database.url);
  engine.work = async ({ jobId }) => {
    if (jobId !== ids[0]) return;
    await holder.query('begin');
    await holder.query('select from millrace.jobs_live where id = $1 for update', [ids[0]]);
  };

  const ran = await engine.run(records, { deps: { time: hastyTime }, remainingMs: questions(5) });
  await holder.query('rollback');

  expect(ran).toMatchObject({ failed: [records[0]!.messageId], shown: [] });
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'running' });
  expect(await engine.state(ids[1]!)).toMatchObject({ status: 'succeeded' });
});

it('settles the other jobs when the database refuses a row, before or after them', async () => {
  const { ids, records } = await engine.deliver(3);
  const refuse = `create function public.refuse() returns trigger language plpgsql as
    $$ begin if old.id = ${ids[1]} and new.status = 'failed' then raise exception 'no'; end if; return new; end $$`;
  await engine.sql(refuse);
  await engine.sql(
    'create trigger refuse before update on millrace.jobs_live for each row execute function public.refuse()',
  );
  engine.work = boom;

  const ran = await engine.run(records, { deps: { time: hastyTime }, remainingMs: questions(4) });
  await engine.sql('drop function public.refuse cascade');

  expect(ran.failed).toEqual([records[1]!.messageId]);
  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states.map(({ status }) => status)).toEqual(['failed', 'running', 'failed']);
});

it('retries during a short outage of the database', async () => {
  const { ids, records } = await engine.deliver(2);
  let failures = 3;
  const db = troubled(engine, async (send) => {
    if (failures-- > 0) throw new Error('connect ECONNREFUSED 127.0.0.1:5432');
    return send();
  });

  const ran = await engine.run(records, { deps: { db, time: hastyTime } });

  expect(ran.failed).toEqual([]);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

it('settles after every connection was killed', async () => {
  const { ids, records } = await engine.deliver(2);
  const killer = await createClient(engine.database.url);
  engine.work = async () => {
    await killer.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'engine-test'`,
    );
  };

  const ran = await engine.run(records, { deps: { time: hastyTime } });

  expect(ran.failed).toEqual([]);
  expect(await engine.state(ids[1]!)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

it.each<[string, () => void, string, boolean]>([
  ['a success', () => undefined, 'succeeded', false],
  ['a failure', boom, 'failed', false],
  ['a dead letter', die, 'dead_letter', true],
])('returns the usual response when the response to settling %s is lost', async (_what, work, status, stays) => {
  const { ids, records } = await engine.deliver(1);
  let losses = 1;
  const db = troubled(engine, async (send) => {
    const answer = await send();
    if (losses-- > 0) throw new Error('Connection terminated unexpectedly');
    return answer;
  });
  engine.work = work;

  const ran = await engine.run(records, { deps: { db, time: hastyTime } });

  expect(ran).toMatchObject({
    failed: stays ? [records[0]!.messageId] : [],
    shown: stays ? [records[0]!.receiptHandle] : [],
  });
  expect(await engine.state(ids[0]!)).toMatchObject({ status, attempts: 1 });
});

it('ignores an outcome that arrives after the rescue', async () => {
  const { ids, records } = await engine.deliver(1);
  engine.work = async () => {
    await engine.advance(10_000);
    await engine.rescue();
  };

  const ran = await engine.run(records);

  expect(ran).toMatchObject({ failed: [], shown: [] });
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'failed', suspect: true, attempts: 1 });
  expect(engine.lines).toContainEqual(expect.objectContaining({ event: 'outcome_not_ours', job_id: ids[0] }));
});

it('bounces the message of a job that rescue made a dead letter during its attempt', async () => {
  const { ids, records } = await engine.deliver(1, { maxAttempts: 1 });
  engine.work = async () => {
    await engine.advance(10_000);
    await engine.rescue();
  };

  const ran = await engine.run(records);

  expect(ran).toMatchObject({ failed: [records[0]!.messageId], shown: [records[0]!.receiptHandle] });
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'dead_letter', attempts: 1 });
});

it('does not settle an attempt that started elsewhere after the rescue', async () => {
  const { ids, records } = await engine.deliver(1);
  engine.work = async () => {
    engine.work = () => 'the second run';
    await engine.advance(10_000);
    await engine.rescue();
    await engine.advance(10_000);
    await engine.dispatch();
    await engine.run(engine.queues.receive('memory://work'));
    return 'the first run';
  };

  await engine.run(records);

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded', attempts: 2, result: 'the second run' });
});

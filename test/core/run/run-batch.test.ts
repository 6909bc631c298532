import { expect, it } from 'vitest';
import { Cancel, DeadLetter, RetryAfter, Skip, Snooze } from '../../../core/handler/chosen-outcome.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { systemTime } from '../../../core/time.ts';
import { hastyTime, openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { withQuery } from '../../support/with-query.ts';

const engine = await openDatabaseEngine();
const never = () => new Promise(() => undefined);

it('runs the jobs of a batch concurrently', async () => {
  const { records } = await engine.deliver(10);
  let inside = 0;
  let most = 0;
  engine.work = async () => {
    most = Math.max(most, ++inside);
    await systemTime.sleep(20);
    inside--;
  };

  await engine.run(records);

  expect(most).toBe(10);
});

it('runs two statements for a batch that succeeds', async () => {
  const { records } = await engine.deliver(10);
  let asked = 0;
  const query: Database['query'] = (text, values) => {
    asked++;
    return engine.db.query(text, values);
  };

  await engine.run(records, { deps: { db: withQuery(engine.db, query) } });

  expect(asked).toBe(2);
});

it('stores every outcome that a handler can choose', async () => {
  const { ids, records } = await engine.deliver(6);
  const outcomes = [
    new RetryAfter('90s'),
    new Snooze('10m'),
    new Skip('nothing to do'),
    new Cancel('not wanted'),
    new DeadLetter('hopeless'),
    undefined,
  ];
  engine.work = ({ jobId }) => {
    const outcome = outcomes[ids.indexOf(jobId)];
    if (outcome instanceof Skip) throw outcome;
    return outcome;
  };

  const ran = await engine.run(records);

  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states.map(({ status, attempts, due_in }) => [status, attempts, due_in && Math.round(due_in / 10)])).toEqual([
    ['failed', 1, 9],
    ['pending', 0, 60],
    ['skipped', 1, null],
    ['cancelled', 1, null],
    ['dead_letter', 1, null],
    ['succeeded', 1, null],
  ]);
  expect(ran.failed).toEqual([records[4]!.messageId]);
});

it('bounces dead jobs and then ends the process of a handler that overstayed, after all jobs are settled', async () => {
  const { ids, records } = await engine.deliver(3, { maxAttempts: 1 });
  const seen: string[] = [];
  engine.work = ({ jobId }) => (jobId === ids[0] ? never() : undefined);
  engine.queues.hook = async (moment) => {
    seen.push(moment, ...(await Promise.all(ids.map(async (id) => (await engine.state(id)).status))));
  };

  const ran = await engine.run(records, { deps: { time: hastyTime, exit: () => void seen.push('exit') } });

  const after = ['dead_letter', 'succeeded', 'succeeded'];
  expect(seen).toEqual(['before visible', ...after, 'after visible', ...after, 'exit']);
  expect(ran.shown).toEqual([records[0]!.receiptHandle]);
  expect(await engine.state(ids[0]!)).toMatchObject({ last_error: 'timed out after 30 s' });
});

it('ends the process of a handler that overstayed even when nothing could be settled', async () => {
  const { records } = await engine.deliver(1);
  engine.work = never;
  let started = false;
  const query = async (text: string, values?: readonly unknown[]) => {
    if (started) throw new Error('connect ECONNREFUSED');
    started = true;
    return engine.db.query(text, values);
  };
  let left = 5;

  const ran = await engine.run(records, {
    deps: { time: hastyTime, db: withQuery(engine.db, query) },
    remainingMs: () => (left-- > 0 ? 60_000 : 0),
  });

  expect(ran).toMatchObject({ exited: true, failed: [records[0]!.messageId] });
});

it('ends the process of a handler that overstayed even when a later step fails', async () => {
  const { records } = await engine.deliver(2);
  const [first] = records;
  engine.queues.put(QUEUE, first!.body);
  const twin = engine.queues.receive(QUEUE);
  engine.work = never;
  const query = async (text: string, values?: readonly unknown[]) => {
    if (values?.at(-1) === true) throw new Error('connect ECONNREFUSED');
    return engine.db.query(text, values);
  };

  const ran = await engine.run([...records, ...twin], { deps: { time: hastyTime, db: withQuery(engine.db, query) } });

  expect(ran).toMatchObject({ exited: true });
  expect(ran.failed).toHaveLength(3);
});

it('does not end the process of handlers that stopped at their signal', async () => {
  const { ids, records } = await engine.deliver(2);
  engine.work = ({ signal }) => systemTime.sleep(60_000, signal).then(() => Promise.reject(signal.reason));

  const ran = await engine.run(records, { deps: { time: hastyTime } });

  expect(ran).toMatchObject({ exited: false, failed: [] });
  expect(await engine.state(ids[1]!)).toMatchObject({ status: 'failed', last_error: 'timed out after 30 s' });
});

it('starts nothing when less than the timeout and the reserve is left, and counts no attempt', async () => {
  const { ids, records } = await engine.deliver(2);

  const ran = await engine.run(records, { remainingMs: () => 36_999 });
  const resent = await engine.dispatch();
  await engine.run(engine.queues.receive(QUEUE), { remainingMs: () => 37_000 });

  expect(ran.failed).toEqual([]);
  expect(resent).toMatchObject({ sent: 2 });
  expect(engine.runs.sort()).toEqual([...ids].sort());
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

it.each([
  ['the same message twice', false],
  ['another message of the same claim', true],
])('runs a job once when its batch contains %s', async (_what, another) => {
  const { ids, records } = await engine.deliver(2);
  const copy = { ...records[0]!, receiptHandle: 'r-copy', ...(another && { messageId: 'm-copy' }) };

  const ran = await engine.run([records[0]!, copy, records[1]!]);

  expect(ran.failed).toEqual([]);
  expect(engine.runs).toEqual(ids);
});

it('reports both deliveries of a message that must stay', async () => {
  const { records } = await engine.deliver(1, { maxAttempts: 1 });
  engine.work = () => {
    throw new Error('boom');
  };

  const ran = await engine.run([records[0]!, { ...records[0]!, receiptHandle: 'r-copy' }]);

  expect(ran.failed).toEqual([records[0]!.messageId]);
});

it('keeps a job dead that died in a batch with a copy of its message', async () => {
  const { ids, records } = await engine.deliver(1, { maxAttempts: 1 });
  const copy = { ...records[0]!, messageId: 'm-copy', receiptHandle: 'r-copy' };
  engine.work = () => {
    throw new Error('boom');
  };

  const ran = await engine.run([records[0]!, copy]);

  expect(ran.failed).toEqual([records[0]!.messageId]);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'dead_letter', attempts: 1 });
  expect(engine.lines.filter((line) => line.sqs_message_id === 'm-copy')).toMatchObject([{ level: 'error' }]);
});

it('redrives a dead job while other jobs of the batch still run', async () => {
  const { ids, records } = await engine.deliver(1, { maxAttempts: 1 });
  engine.work = () => Promise.reject(new Error('boom'));
  await engine.run(records);
  engine.queues.purge();
  const mate = await engine.deliver(1);
  let seen = '';
  engine.work = () =>
    eventually(async () => {
      seen = (await engine.state(ids[0]!)).status;
      expect(seen).toBe('pending');
    });

  const ran = await engine.run([...mate.records, { ...records[0]!, messageId: 'm-redriven' }]);

  expect(ran.failed).toEqual([]);
  expect(seen).toBe('pending');
});

import { expect, it } from 'vitest';
import { start } from '../../../core/jobs/start.ts';
import type { Started } from '../../../core/jobs/start-answer.ts';
import { decodeBatch } from '../../../core/run/sqs-event.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';
import { withQuery } from '../../support/with-query.ts';

const engine = await openDatabaseEngine();

type Records = ReturnType<typeof engine.queues.receive>;

function begin(records: Records, batch: Partial<Parameters<typeof start>[1]> = {}): Promise<Started> {
  const requests = decodeBatch({ Records: records }).deliveries.map((delivery) => ({
    ...delivery,
    ...delivery.message,
  }));
  const given = { jobType: 'work', routingKey: '', requestId: 'r', leaseSeconds: 0, suspects: false };
  return start(engine.db, { ...given, requests, ...batch });
}

const verdicts = ({ answers }: Started) => answers.map(({ verdict }) => verdict);

it('starts a batch in one statement, counts each attempt and returns the payload', async () => {
  const { ids, records } = await engine.deliver(3, { payload: { n: 1 } });

  const started = await begin(records);

  expect(verdicts(started)).toEqual(['started', 'started', 'started']);
  expect(started.answers[0]).toMatchObject({ payload: '{"n": 1}', attempt: 1, maxAttempts: 5 });
  expect(started.retryPolicy).toMatchObject({ kind: 'fixed', delay: 60 });
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'running', attempts: 1, request_id: 'r' });
});

it('returns the same start to the same request again, and counts the attempt once', async () => {
  const { ids, records } = await engine.deliver(2);
  const first = await begin(records);

  const again = await begin(records);

  expect(verdicts(again)).toEqual(['started', 'started']);
  expect(again.answers.map(({ payload, attempt }) => [payload, attempt])).toEqual(
    first.answers.map(({ payload, attempt }) => [payload, attempt]),
  );
  expect(await engine.state(ids[0]!)).toMatchObject({ attempts: 1 });
});

it('starts nothing for another request or delivery of a running job', async () => {
  const { records } = await engine.deliver(1);
  await begin(records);

  const otherRequest = await begin(records, { requestId: 'other' });
  const otherMessage = await begin(records.map((record) => ({ ...record, messageId: 'm-copy' })));

  expect(verdicts(otherRequest)).toEqual(['none']);
  expect(verdicts(otherMessage)).toEqual(['none']);
});

it('skips a locked row and starts the others at once', async () => {
  const { ids, records } = await engine.deliver(3);
  const holder = await createClient(engine.database.url);
  await holder.query('begin');
  await holder.query('select from millrace.jobs_live where id = $1 for update', [ids[1]]);

  const started = await begin(records);
  await holder.query('rollback');

  expect(verdicts(started)).toEqual(['started', 'busy', 'started']);
  expect(await engine.state(ids[1]!)).toMatchObject({ status: 'dispatched', attempts: 0 });
});

it('leaves the message of a locked row, and runs the job at its next delivery', async () => {
  const { ids, records } = await engine.deliver(2);
  const holder = await createClient(engine.database.url);
  await holder.query('begin');
  await holder.query('select from millrace.jobs_live where id = $1 for update', [ids[0]]);

  const first = await engine.run(records);
  await holder.query('rollback');
  engine.queues.showAll();
  const second = await engine.run(engine.queues.receive(QUEUE));

  expect(first).toMatchObject({ failed: [records[0]!.messageId], shown: [] });
  expect(second.failed).toEqual([]);
  expect(engine.runs).toEqual([ids[1], ids[0]]);
});

it('cancels a job at its start when it has a cancel request', async () => {
  const { ids, records } = await engine.deliver(2);
  const [asked] = await engine.sql('select millrace.cancel($1) as answer', [ids[0]]);

  const ran = await engine.run(records);

  expect(asked).toEqual({ answer: 'requested' });
  expect(ran.failed).toEqual([]);
  expect(engine.runs).toEqual([ids[1]]);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'cancelled', attempts: 0 });
  expect(await engine.sql('select from millrace.cancel_requests')).toEqual([]);
});

it('starts no job for a message from another epoch, and rescues the job after its lease', async () => {
  const id = await engine.enqueue();
  await engine.dispatch();
  const claim = (await engine.state(id)).claim_no!;
  engine.queues.purge();
  engine.queues.put(QUEUE, engine.body(id, claim, 'another'));

  const ran = await engine.run(engine.queues.receive(QUEUE));
  await engine.advance(10_000);
  await engine.rescue();

  expect(ran.failed).toEqual([]);
  expect(engine.runs).toEqual([]);
  expect(engine.lines.map(({ event }) => event)).toContain('message_unexpected');
  expect(await engine.state(id)).toMatchObject({ status: 'pending', attempts: 0 });
});

it('starts a job once when messages of two epochs name the same claim', async () => {
  const { ids, records } = await engine.deliver(1);
  const { claim } = JSON.parse(records[0]!.body) as { claim: string };
  engine.queues.put(QUEUE, engine.body(ids[0]!, claim, 'another'));
  const [stranger] = engine.queues.receive(QUEUE);

  await engine.run([stranger!, ...records]);

  expect(engine.runs).toEqual(ids);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

it('does not start a job of another handler', async () => {
  const { records, ids } = await engine.deliver(1);

  const started = await begin(records, { jobType: 'other' });

  expect(verdicts(started)).toEqual(['none']);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'dispatched', attempts: 0 });
});

it('starts nothing with lookOnly', async () => {
  const { records, ids } = await engine.deliver(1);

  await begin(records, { lookOnly: true });

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'dispatched', attempts: 0 });
});

it('starts a job whose attempts are at the limit of the column', async () => {
  const { records, ids } = await engine.deliver(2);
  await engine.sql('update millrace.jobs_live set attempts = 2147483647 where id = $1', [ids[0]]);

  const ran = await engine.run(records);

  expect(ran.failed).toEqual([]);
  expect(engine.runs).toEqual(ids);
});

it('runs the batch when the first response to start is lost', async () => {
  const { ids, records } = await engine.deliver(2);
  let losses = 1;
  const db = withQuery(engine.db, async (text, values) => {
    const answer = await engine.db.query(text, values);
    if (text.includes('start_jobs') && losses-- > 0) throw new Error('Connection terminated unexpectedly');
    return answer;
  });

  const ran = await engine.run(records, { deps: { db } });

  expect(losses).toBeLessThan(1);
  expect(ran.failed).toEqual([]);
  expect(engine.runs).toEqual(ids);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

it('changes nothing and never throws while the database is unavailable', async () => {
  const { ids, records } = await engine.deliver(2);
  let left = 80_000;
  const remainingMs = () => {
    left -= 20_000;
    return left;
  };
  const db = withQuery(engine.db, () => Promise.reject(new Error('connect ECONNREFUSED')));

  const ran = await engine.run(records, { deps: { db }, remainingMs });

  expect(ran).toMatchObject({ failed: records.map(({ messageId }) => messageId), shown: [] });
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'dispatched', attempts: 0 });
});

it('starts the others when one row makes the statement fail', async () => {
  const { ids, records } = await engine.deliver(3);
  await engine.sql(`alter table millrace.jobs_live add constraint trap check (id <> ${ids[1]} or status <> 'running')`);

  const ran = await engine.run(records);
  await engine.sql('alter table millrace.jobs_live drop constraint trap');

  expect(ran).toMatchObject({ failed: [records[1]!.messageId], shown: [] });
  expect(engine.runs).toEqual([ids[0], ids[2]]);
  expect(await engine.state(ids[1]!)).toMatchObject({ status: 'dispatched', attempts: 0 });
});

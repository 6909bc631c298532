import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

const S3_TEST_EVENT = JSON.stringify({
  Service: 'Amazon S3',
  Event: 's3:TestEvent',
  Time: '2026-11-27T10:00:00.000Z',
  Bucket: 'pictures',
  RequestId: '5582815E1AEA5ADF',
  HostId: '8cLeGAmw098X5cv4Zkwcmo8vvZa3eH3eKxsPzbB9wrR+YstdA6Knx4Ip8EXAMPLE',
});
const POISON = ['not json', 'null', '[]', '{"jobId":"abc"}', '{"jobId":"99999999"}', S3_TEST_EVENT];

const everything = () =>
  engine.sql(`select id, status, attempts, updated_at::text, finished_at::text, to_jsonb(j) as whole
    from millrace.jobs j order by id`);

it('SQS-01: a message delivered again after success runs nothing and changes nothing', async () => {
  const { ids, records } = await engine.deliver(1);
  await engine.run(records);
  const before = await everything();
  engine.lines.length = 0;

  await engine.advance(1);
  const again = await engine.run(records.map((record) => ({ ...record, receiptHandle: 'r-new' })));

  expect(again).toMatchObject({ failed: [], shown: [] });
  expect(engine.runs).toEqual(ids);
  expect(await everything()).toEqual(before);
  expect(engine.lines).toMatchObject([{ level: 'info', event: 'message_not_started', job_id: ids[0] }]);
});

it('SQS-01: a message delivered again after its job was pruned runs nothing and changes nothing', async () => {
  const { ids, records } = await engine.deliver(1);
  await engine.run(records);
  await engine.sql('delete from millrace.jobs_finished');

  const again = await engine.run(records);

  expect(again.failed).toEqual([]);
  expect(engine.runs).toEqual(ids);
  expect(await everything()).toEqual([]);
});

it('SQS-01: any number of deliveries in any order has the effect of one delivery', async () => {
  const order = fc.array(fc.nat(3), { minLength: 4, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(order, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), async (picks, together) => {
      engine.queues.purge();
      engine.runs.length = 0;
      const { ids, records } = await engine.deliver(4);

      for (let n = 0; n < picks.length; n++) {
        const batch = together[n] ? [picks[n]!, picks[n]!, ...picks.slice(0, n)] : [picks[n]!];
        await engine.run(batch.map((pick) => records[pick]!));
      }

      const ran = new Set(picks.map((pick) => ids[pick]!));
      expect([...engine.runs].sort()).toEqual([...ran].sort());
    }),
    { numRuns: 15 },
  );
});

it('SQS-02: unreadable messages bounce into the DLQ, and the four good jobs of their batch succeed', async () => {
  const ids = await Promise.all([1, 2, 3, 4].map(() => engine.enqueue()));
  const bystander = await engine.enqueue({ jobType: 'other' });
  const untouched = await engine.state(bystander);
  for (const body of POISON) engine.queues.put(QUEUE, body);
  await engine.dispatch();

  const first = await engine.run(engine.queues.receive(QUEUE));
  for (let receive = 0; receive < 5; receive++) await engine.run(engine.queues.receive(QUEUE));

  expect(first.failed).toHaveLength(6);
  expect(first.shown).toHaveLength(6);
  expect([...engine.runs].sort()).toEqual([...ids].sort());
  expect(engine.queues.deadBodies(QUEUE)).toEqual(POISON);
  expect(engine.queues.bodies(QUEUE)).toEqual([]);
  expect(await engine.state(bystander)).toMatchObject({
    status: 'pending',
    attempts: 0,
    updated_at: untouched.updated_at,
  });
});

it('SQS-02: an unreadable message in a queue without a redrive policy slows down after five receives', async () => {
  engine.queues.receiveLimit = Number.POSITIVE_INFINITY;
  engine.queues.put(QUEUE, 'nonsense');

  const shown: number[] = [];
  for (let receive = 1; receive <= 7; receive++) {
    const ran = await engine.run(engine.queues.receive(QUEUE));
    expect(ran.failed).toHaveLength(1);
    shown.push(ran.shown.length);
    engine.queues.showAll();
  }

  expect(shown).toEqual([1, 1, 1, 1, 1, 0, 0]);
  const reasons = engine.lines.filter(({ event }) => event === 'message_unreadable').map(({ reason }) => reason);
  expect(reasons.slice(4)).toEqual(['not a Millrace message', expect.stringMatching(/redrive policy/), reasons[5]]);
});

it('SQS-02: a message with an id that was never issued moves to the dead-letter queue', async () => {
  engine.queues.put(QUEUE, engine.body('99999999', '1'));

  const ran = await engine.run(engine.queues.receive(QUEUE));

  expect(ran.failed).toHaveLength(1);
  expect(ran.shown).toEqual([]);
});

it('SQS-02: no message body prevents the other jobs of its batch from running', async () => {
  const odd = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc
      .record({
        v: fc.constant(1),
        epoch: fc.oneof(fc.string({ unit: 'binary' }), fc.constant(engine.epoch)),
        job: fc.oneof(fc.bigInt({ min: -5n, max: 2n ** 64n }).map(String), fc.string()),
        claim: fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 63n }).map(String), fc.constant('\0')),
      })
      .map((body) => JSON.stringify(body)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(odd, { minLength: 1, maxLength: 9 }), async (bodies) => {
      engine.queues.purge();
      const { ids, records } = await engine.deliver(1);
      for (const body of bodies) engine.queues.put(QUEUE, body);

      const ran = await engine.run([...engine.queues.receive(QUEUE), ...records]);

      expect(ran.failed).not.toContain(records[0]!.messageId);
      expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded', attempts: 1 });
    }),
    { numRuns: 30 },
  );
});

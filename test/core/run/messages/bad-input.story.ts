import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../../support/database-engine.ts';
import { claimJob } from './job-states.ts';
import { hiddenSeconds, openWorld } from './world.ts';

const engine = await openDatabaseEngine();

const EMPTY = { visible: 0, hidden: 0 };
const MEBIBYTE = 1_048_576;

const own = (fields: object) => JSON.stringify({ v: 1, epoch: engine.epoch, job: '1', claim: '1', ...fields });
/** Bodies that the codec must refuse and SQS accepts. */
const UNREADABLE: Readonly<Record<string, string>> = {
  'a mebibyte of junk': 'x'.repeat(MEBIBYTE),
  'a mebibyte of brackets': '['.repeat(MEBIBYTE),
  'a mebibyte of a claim number': own({ claim: '9'.repeat(MEBIBYTE - 100) }),
  'a single blank': ' ',
  'an event of another service': JSON.stringify({ Service: 'Amazon S3', Event: 's3:TestEvent', Bucket: 'pictures' }),
  'a NUL in the epoch': own({ epoch: '\0' }),
  'half a surrogate pair in the epoch': '{"v":1,"epoch":"\\ud800","job":"1","claim":"1"}',
  'the replacement for bytes that are not UTF-8': Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString(),
  'characters of the last planes': '\u{10ffff}\u{1f9ff}\ue000\ufffd',
  'a byte order mark': `\ufeff${own({})}`,
  'another version': own({ v: 2 }),
  'a job id as a number': own({ job: 1 }),
  'a job id beyond a bigint': own({ job: '9223372036854775808' }),
  'a negative claim': own({ claim: '-1' }),
  'SQL for an id': own({ job: "1'; drop table millrace.jobs; --" }),
  'a prototype': '{"__proto__":{"v":1,"epoch":"a","job":"1","claim":"1"}}',
};

it.each(Object.entries(UNREADABLE))(
  '%s goes to the dead-letter queue, and the other jobs of the batch run',
  async (_what, body) => {
    const world = await openWorld(engine);
    const { queueUrl, deadLetterQueueUrl } = world.work;
    const id = await engine.enqueue();
    await world.dispatch();
    await world.send(queueUrl, body);

    const counts = await world.pump('work');

    expect(counts.toSorted()).toEqual([1, 1, 2, 3, 4, 5]);
    expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(await world.depth(queueUrl)).toEqual(EMPTY);
    expect((await world.receive(deadLetterQueueUrl)).map((record) => record.body)).toEqual([body]);
  },
);

it('a message that SQS refuses reaches no handler', async () => {
  const world = await openWorld(engine);
  const { queueUrl } = world.work;

  const refusals = await Promise.all(
    ['\0', 'a\ufffe', '\ud800', 'x'.repeat(MEBIBYTE + 1), ''].map((body) =>
      world.send(queueUrl, body).then(
        () => 'taken',
        (error: Error) => error.name,
      ),
    ),
  );

  expect(refusals).not.toContain('taken');
  expect(await world.depth(queueUrl)).toEqual(EMPTY);
});

const FORGED = [
  { what: 'a job that was never claimed', claim: () => '1', epoch: undefined },
  { what: 'a job that was never claimed, in another epoch', claim: () => '1', epoch: 'another' },
  { what: 'a claim that was never made', claim: () => '9223372036854775807', epoch: undefined },
];

it.each(FORGED)('a forged message of $what is deleted with an alarm and starts nothing', async ({ claim, epoch }) => {
  const world = await openWorld(engine);
  const id = await engine.enqueue();
  await world.send(world.work.queueUrl, engine.body(id, claim(), epoch));

  const counts = await world.pump('work');

  expect(counts).toEqual([1]);
  expect(engine.runs).toEqual([]);
  expect(await engine.state(id)).toMatchObject({ status: 'pending', attempts: 0, claim_no: null });
  expect(engine.lines).toContainEqual(
    expect.objectContaining({ level: 'error', event: 'message_unexpected', job_id: id, step: 'acknowledge' }),
  );
});

it("a forged message with another job's claim starts that job once, and its own message starts nothing", async () => {
  const world = await openWorld(engine);
  const { jobId, record } = await claimJob(world);
  await world.send(world.work.queueUrl, record.body);

  await world.pump('work');
  await world.advance(hiddenSeconds(engine));
  const counts = await world.pump('work');

  expect(engine.runs).toEqual([jobId]);
  expect(counts).toEqual([2]);
  expect(await world.depth(world.work.queueUrl)).toEqual(EMPTY);
});

it('ten forged messages and two copies do not affect a good message in the same batch', async () => {
  const world = await openWorld(engine);
  const { queueUrl } = world.work;
  const waiting = await engine.enqueue({ jobType: 'other' });
  await engine.sql("update millrace.jobs_live set run_at = millrace.clock() + interval '1 day' where id = $1", [
    waiting,
  ]);
  const { jobId, record } = await claimJob(world);
  await world.send(queueUrl, record.body);
  await world.send(queueUrl, record.body);
  for (const claim of ['1', '2', '9223372036854775807']) await world.send(queueUrl, engine.body(waiting, claim));
  for (const epoch of ['a', 'b', 'c']) await world.send(queueUrl, engine.body(jobId, '1', epoch));
  await world.send(queueUrl, engine.body('9223372036854775807', '1'));

  await world.pump('work');

  expect(engine.runs).toEqual([jobId]);
  expect(await engine.state(jobId)).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(await engine.state(waiting)).toMatchObject({ status: 'pending', claim_no: null });
  // The message with an unissued id is left, and the message that was received first is still hidden.
  expect(await world.depth(queueUrl)).toEqual({ visible: 0, hidden: 2 });
});

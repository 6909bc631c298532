import { expect, it } from 'vitest';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';
import { faultsOf } from '../../support/log-lines.ts';

const engine = await openDatabaseEngine({ maxAttempts: 3 });
const starts = () => engine.lines.filter(({ event }) => event === 'job_started');

it('a line is logged before the run of each attempt, with its job, its attempt and its delivery', async () => {
  const { ids, records } = await engine.deliver(2);
  let loggedBefore = 0;
  engine.work = () => {
    loggedBefore = starts().length;
    throw new Error('boom');
  };
  await engine.run(records, { deps: { logJobStarts: true } });
  await engine.advance(60);
  await engine.dispatch();
  const [again] = engine.queues.receive(QUEUE);
  engine.lines.length = 0;

  await engine.run([again!], { deps: { logJobStarts: true } });

  expect(loggedBefore).toBe(1);
  expect(starts()).toMatchObject([
    {
      ...{ level: 'info', job_type: 'work', queue: 'work', attempt: '2/3', attempt_number: 2, max_attempts: 3 },
      ...{ job_id: ids[0], sqs_message_id: again!.messageId, message: 'work started attempt 2/3.' },
    },
  ]);
  expect(starts().flatMap(faultsOf)).toEqual([]);
});

it('no line is logged for a message that starts no attempt', async () => {
  const { records } = await engine.deliver(1);
  await engine.run(records, { deps: { logJobStarts: true } });
  engine.lines.length = 0;

  await engine.run([{ ...records[0]!, messageId: 'm-copy' }], { deps: { logJobStarts: true } });

  expect(engine.lines.map(({ event }) => event)).toEqual(['message_not_started']);
});

it('no start is logged when the setting is off', async () => {
  const { records } = await engine.deliver(1);

  await engine.run(records, { deps: { logJobStarts: false } });

  expect(engine.lines.map(({ event }) => event)).toEqual(['dispatched', 'job_succeeded']);
});

import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type Effects, openEffects } from './effects-fixture.ts';

const OTHERS = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
const SOURCE = 'arn:aws:sqs:us-east-1:000000000000:q';
const CRASH_ON_POISON =
  "if (event.Records.some(({ body }) => body === 'poison')) process.kill(process.pid, 'SIGKILL');";

/** Sends a batch of ten messages, one of them poison, to a queue that allows three receives. */
async function poison(body: string): Promise<Effects> {
  const effects = await openEffects({ body, maxReceiveCount: 3 });
  await effects.send(['poison', ...OTHERS]);
  effects.map();
  return effects;
}

async function untilDead(effects: Effects, count: number) {
  const dead = await eventually(
    async () => {
      const messages = await effects.dead();
      expect(messages).toHaveLength(count);
      return messages;
    },
    { interval: 100 },
  );
  return dead.map(({ Body, Attributes }) => ({ Body, from: Attributes?.DeadLetterQueueSourceArn }));
}

// "If your function fails to process a message multiple times, Amazon SQS can send it to a dead-letter queue." and
// "maxReceiveCount: The number of times a message is delivered to the source queue before being moved to the
// dead-letter queue." (Creating and configuring an Amazon SQS event source mapping; SetQueueAttributes)
it.concurrent('a message that crashes the function uses up the receives of its batch, SQS moves all', async () => {
  const effects = await poison(CRASH_ON_POISON);

  const dead = await untilDead(effects, 10);

  expect(dead.map(({ Body }) => Body).sort()).toEqual([...OTHERS, 'poison']);
  expect(new Set(dead.map(({ from }) => from))).toEqual(new Set([SOURCE]));
  const receivesOfPoison = effects.seen().filter(({ body }) => body === 'poison');
  expect(receivesOfPoison.map(({ receives }) => receives).sort()).toEqual([1, 2, 3]);
  expect(await effects.depth()).toEqual({ visible: 0, inFlight: 0 });
  await effects.close();
});

it.concurrent('each crash of the function is reported, and each happened in a new process', async () => {
  const effects = await poison(CRASH_ON_POISON);

  await untilDead(effects, 10);

  const crashes = effects.events.filter(({ kind }) => kind === 'exit');
  const pids = new Set(effects.seen().map(({ pid }) => pid));
  expect(crashes.length).toBeGreaterThanOrEqual(3);
  expect(crashes).toHaveLength(pids.size);
  expect(new Set(crashes.map(({ message }) => message))).toEqual(
    new Set(['Runtime exited with error: signal: killed']),
  );
  await effects.close();
});

// "[…] make only the failed messages visible again": the others of the batch are deleted after the first response.
it.concurrent('a message that each response names is moved alone', async () => {
  const effects = await poison(
    `const bad = event.Records.filter(({ body }) => body === 'poison');
     return { batchItemFailures: bad.map(({ messageId }) => ({ itemIdentifier: messageId })) };`,
  );

  const dead = await untilDead(effects, 1);

  expect(dead).toEqual([{ Body: 'poison', from: SOURCE }]);
  const receives = effects.seen().filter(({ body }) => body === 'poison');
  expect(receives).toHaveLength(3);
  expect(await effects.depth()).toEqual({ visible: 0, inFlight: 0 });
  await effects.close();
});

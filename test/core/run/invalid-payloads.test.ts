import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineHandler, enqueue, enqueueMany, PayloadInvalid } from '../../../core/index.ts';
import { attempt } from './attempt/one-attempt.ts';

const mail = defineHandler({
  ...{ jobType: 'send_mail', routingKey: 'fast', timeout: '5s', run: async () => undefined },
  payload: z.object({ to: z.string() }),
});
const bad = { to: undefined } as unknown as { to: string };
const client = { query: () => Promise.reject(new Error('not reached')) };

it.each([
  ['a payload that violates the schema', '{"n": "five"}', /^payload\/n: /],
  ['a number that JavaScript would change', '{"n": 9007199254740993}', /9007199254740993 is not exact/],
  ['a number that is too large for JavaScript', `{"n": 1${'0'.repeat(400)}}`, /is not exact/],
])('makes a dead letter without running the handler: %s', async (_what, payload, message) => {
  let ran = false;

  const end = await attempt(
    () => {
      ran = true;
    },
    { payload },
  );

  expect(end.outcome).toMatchObject({ kind: 'dead_letter', error: { name: 'PayloadInvalid' } });
  expect('error' in end.outcome && end.outcome.error.message).toMatch(message);
  expect(ran).toBe(false);
});

it.each([
  ['throws PayloadInvalid', () => Promise.reject(new PayloadInvalid('/to', 'is unknown')), /^payload\/to: is unknown$/],
  ['enqueues an invalid follow-up', () => enqueue(client, mail, bad), /^send_mail\.fast: payload\/to: /],
  [
    'enqueues a follow-up that cannot be stored',
    () => enqueue(client, mail, { to: 'a\0' }),
    /^send_mail\.fast: payload\/to: /,
  ],
  [
    'enqueues several, one of them invalid',
    () =>
      enqueueMany(client, [
        { handler: mail, payload: { to: 'a' } },
        { handler: mail, payload: bad },
      ]),
    /^send_mail\.fast: payload\[1\]\/to: /,
  ],
])('fails with the retry policy when the handler %s', async (_what, run, message) => {
  const end = await attempt(run);

  expect(end.outcome).toMatchObject({
    ...{ kind: 'failed', delaySeconds: 60 },
    error: { name: 'PayloadInvalid', message: expect.stringMatching(message) },
  });
});

import { expect, it } from 'vitest';
import * as z from 'zod';
import { TimedOut } from '../../../core/errors.ts';
import { DEFAULT_RETRY_POLICY } from '../../../core/handler/retry-policy.ts';
import { defineHandler } from '../../../core/index.ts';
import { crashOutcome } from '../../../core/run/attempt/crash-outcome.ts';
import { attemptOf } from '../run/attempt/one-attempt.ts';

const ADDRESSES = [
  { jobType: 'send_v1', routingKey: '' },
  { jobType: 'send_v2', routingKey: '' },
  { jobType: 'send_v2', routingKey: 'fast' },
];
type Address = (typeof ADDRESSES)[number];

const payload = z.object({ to: z.string().optional(), lines: z.array(z.string()).optional() });
const handlerOf = (address: Address, run: () => unknown) =>
  defineHandler({ ...address, payload, timeout: '5s', run: async () => run() });
const slow = () => new Promise<void>(() => undefined);

/** Returns the fingerprint of an error that Millrace raised about an attempt of this handler. */
type Failing = (address: Address, job: number) => Promise<string>;

async function printOf(address: Address, run: () => unknown, json = '{}'): Promise<string> {
  const { outcome } = await attemptOf(handlerOf(address, run), { payload: json });
  return 'error' in outcome ? outcome.error.fingerprint : 'no error';
}

const crash = (name: string, message: (job: number) => string): Failing => {
  return async (address, job) => {
    const attempt = { ...address, attempts: 1 };
    const outcome = crashOutcome(DEFAULT_RETRY_POLICY, attempt, { name, message: message(job) }, 0);
    return 'error' in outcome ? outcome.error.fingerprint : 'no error';
  };
};

const FAILURES: [string, Failing][] = [
  ['a timeout', (address) => printOf(address, slow)],
  [
    'a blocked event loop, with the stack of the moment',
    (address, job) =>
      printOf(address, () => {
        const error = new TimedOut(5, 7 + job);
        error.stack = `TimedOut: x\n    at ${job === 0 ? 'parse' : 'print'} (/work/functions/handlers/send.ts:3:${job})`;
        throw error;
      }),
  ],
  ['an expired lease', crash('LeaseExpired', (job) => `its process did not report back within ${45 + job} s`)],
  [
    'no memory left',
    crash('OutOfMemory', (job) => `its process ran out of memory (it used all of its ${256 + job} MB)`),
  ],
  ['an invalid payload', (address, job) => printOf(address, () => 1, `{"to":${job}}`)],
];

it.each(FAILURES)('%s has one group for each handler', async (_what, fail) => {
  const prints = await Promise.all(ADDRESSES.map((address) => Promise.all([fail(address, 0), fail(address, 1)])));

  expect(prints.map((both) => new Set(both).size)).toEqual([1, 1, 1]);
  expect(new Set(prints.flat()).size).toBe(3);
});

it('different ends of one handler have different groups', async () => {
  const [address] = ADDRESSES as [Address];

  const prints = await Promise.all(FAILURES.map(([, fail]) => fail(address, 0)));

  expect(new Set(prints).size).toBe(FAILURES.length);
});

it.each([
  ['one fault', '{"lines":[1]}', '{"lines":[1]}'],
  ['the same first fault and others', '{"lines":[1]}', '{"lines":[1,2,3]}'],
])('invalid payloads with %s have one group', async (_what, ...payloads) => {
  const [address] = ADDRESSES as [Address];

  const prints = await Promise.all(payloads.map((json) => printOf(address, () => 1, json)));

  expect(new Set(prints).size).toBe(1);
});

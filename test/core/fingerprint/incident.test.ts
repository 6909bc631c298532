import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { TimedOut } from '../../../core/errors.ts';
import { describeFailure } from '../../../core/failure.ts';

const reply = (status: number, path: string) => new Error(`HTTP ${status} from https://api.example.com/${path}`);

/** The kinds of errors of one incident, each with what differs between its jobs. */
const KINDS: ((job: number) => unknown)[] = [
  (job) => new Error(`timeout of ${1000 + job} ms exceeded: https://pay.example.com/charges/${randomUUID()}`),
  (job) => reply(503, `customers/${randomUUID()}?page=${job}`),
  (job) => reply(404, `customers/${randomUUID()}?page=${job}`),
  (job) => Object.assign(new Error(`connect ECONNREFUSED 10.0.0.${job % 250}:5432`), { code: 'ECONNREFUSED' }),
  (job) => new Error(`card of user${job}@example.com was declined`),
  (job) => new Error(`order ${job} has no lines`),
  (job) => new Error(`invoice "INV-2026-${job}" is locked by 'user ${job}'`),
  () => new TypeError("Cannot read properties of undefined (reading 'total')"),
  () => new TypeError("Cannot read properties of undefined (reading 'lines')"),
  (job) => new SyntaxError(`Unexpected token '<', "<p>${job}"... is not valid JSON`),
  () => new TimedOut(30),
  (job) => new Error(`deadlock detected: process ${job} waits for ShareLock on transaction ${job * 7}`),
  (job) => `sync of ${randomUUID()} gave up after ${job} tries`,
];

/** Throws as a handler does: after a wait, and from a function of its own. */
async function run(kind: (job: number) => unknown, job: number): Promise<never> {
  await null;
  throw kind(job);
}

async function printsOf(kind: (job: number) => unknown): Promise<string[]> {
  const prints: string[] = [];
  const jobs = Array.from({ length: 300 }, (_, job) => job);
  await Promise.all(
    jobs.map(async (job) => {
      try {
        await run(kind, job);
      } catch (thrown) {
        prints.push(describeFailure(thrown).fingerprint);
      }
    }),
  );
  return prints;
}

it('groups 3,900 errors of 13 kinds into 13 groups', async () => {
  const groups = await Promise.all(KINDS.map(async (kind) => new Set(await printsOf(kind))));

  expect(groups.map(({ size }) => size)).toEqual(KINDS.map(() => 1));
  expect(new Set(groups.flatMap((group) => [...group])).size).toBe(KINDS.length);
});

it('groups 500 time-outs of one handler that waits for several calls', async () => {
  const prints = new Set<string>();
  const call = async (slow: boolean) => {
    await null;
    if (slow) throw new Error('The operation was aborted due to timeout');
  };
  for (let job = 0; job < 500; job++) {
    const calls = Array.from({ length: 12 }, (_, index) => call(index === job % 12));
    await Promise.all(calls).catch((thrown) => prints.add(describeFailure(thrown).fingerprint));
  }

  expect(prints.size).toBe(1);
});

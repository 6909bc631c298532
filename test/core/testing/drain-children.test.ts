import { expect, it } from 'vitest';
import * as z from 'zod';
import { DeadLetter, defineHandler, enqueue } from '../../../core/index.ts';
import { openOnServer } from '../../support/test-databases.ts';

const NOW = new Date('2027-01-31T02:00:00Z');

const part = defineHandler({
  jobType: 'part',
  payload: z.object({ n: z.int() }),
  run: async ({ payload }) => {
    if (payload.n < 0) throw new DeadLetter('negative');
  },
});
const merge = defineHandler({ jobType: 'merge', payload: z.object({}), run: async () => undefined });
const split = defineHandler({
  jobType: 'split',
  payload: z.object({ parts: z.array(z.int()) }),
  run: async ({ payload, enqueueChildren }) => {
    const children = payload.parts.map((n) => ({ handler: part, payload: { n }, delay: '1h' }));
    await enqueueChildren(children, { onAllFinished: { handler: merge, payload: {} } });
  },
});

it('runs children, and then the job that waits for them', async () => {
  const database = await openOnServer({ handlers: [part, merge, split], now: NOW });
  await enqueue(database, split, { parts: [1, 2] });

  const runs = await database.drain();

  expect(runs.map(({ jobType }) => jobType)).toEqual(['split', 'part', 'part', 'merge']);
  expect(runs.at(-1)?.at).toEqual(new Date('2027-01-31T03:00:00Z'));
});

it('ends while a job waits for a dead child, without moving the clock to the end of its hold', async () => {
  const database = await openOnServer({ handlers: [part, merge, split], now: NOW });
  await enqueue(database, split, { parts: [1, -1] });

  const runs = await database.drain();

  expect(runs.map(({ jobType, outcome }) => `${jobType} ${outcome}`)).toEqual([
    'split succeeded',
    'part succeeded',
    'part dead_letter',
  ]);
  expect(await database.now()).toEqual(new Date('2027-01-31T03:00:00Z'));
});

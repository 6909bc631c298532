import { expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler } from '../../../core/index.ts';
import { runHandler } from '../../../core/testing/run-handler.ts';

it('lists what the handler enqueued with its success, and nothing after a failure', async () => {
  const next = defineHandler({ jobType: 'next', payload: z.object({ n: z.int() }), run: async () => undefined });
  const merge = defineHandler({
    jobType: 'merge',
    routingKey: 'all',
    payload: z.object({}),
    run: async () => undefined,
  });
  const handler = defineHandler({
    jobType: 'work',
    payload: z.object({ fails: z.boolean() }),
    run: async ({ payload, enqueue, enqueueChildren }) => {
      await enqueue(next, { n: 1 }, { delay: '1h' });
      await enqueueChildren([{ handler: next, payload: { n: 2 } }], { onAllFinished: { handler: merge, payload: {} } });
      if (payload.fails) throw new Error('no');
    },
  });

  const succeeded = await runHandler(handler, { fails: false });
  const failed = await runHandler(handler, { fails: true });

  expect(succeeded.enqueued).toEqual([
    { handler: 'next', payload: { n: 1 } },
    { handler: 'next', payload: { n: 2 } },
    { handler: 'merge.all', payload: {} },
  ]);
  expect(failed.enqueued).toEqual([]);
});

import { expect, it } from 'vitest';
import { runBatch } from './unruly-batches.ts';

it.each([
  ['enters an endless loop', 'loop', 0],
  ['evaluates an endless regular expression after it has waited', 'regex', 200],
  ['creates an endless chain of promises', 'microtasks', 200],
])('fails the attempt of a job that is alone in its batch and %s, with its stack', async (_what, deed, afterMs) => {
  const { states, names, stacks } = await runBatch([{ deed, afterMs }]);

  expect(await states()).toMatchObject([
    {
      ...{ status: 'failed', attempts: 1, suspect: true },
      last_error: expect.stringMatching(/^timed out after 3 s: it blocked the event loop for \d+ s$/),
    },
  ]);
  expect(names).toEqual(['TimedOut']);
  expect(stacks[0]?.split('\n').slice(1, 3).join()).toContain('unruly-handler.ts');
});

it.each([
  ['calls process.exit', 'exit', 'process.exit(3) was called'],
  ['calls process.abort', 'abort', 'process.abort() was called'],
  ['has a rejection that no code awaits', 'reject', 'not awaited'],
])('fails the attempt of a job that is alone in its batch and %s', async (_what, deed, message) => {
  const { states } = await runBatch([{ deed, afterMs: 100 }]);

  expect(await states()).toMatchObject([{ status: 'failed', attempts: 1, suspect: true, last_error: message }]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import sayHello from './say-hello.ts';

test('greets by name', async () => {
  const attempt = { number: 1, max: 5, isLast: false };
  const { signal } = new AbortController();
  const context = { jobId: '1', attempt, signal, log: console as never, progress: () => undefined };
  const enqueue = async () => undefined;

  const result = await sayHello.run({ ...context, enqueue, enqueueChildren: enqueue, payload: { name: 'Ada' } });

  assert.deepEqual(result, { greeting: 'Hello Ada' });
});

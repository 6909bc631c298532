import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runHandler } from 'millrace/testing';
import sayHello from './say-hello.ts';

test('greets by name', async () => {
  const run = await runHandler(sayHello, { name: 'Ada' });

  assert.deepEqual(run.result, { greeting: 'Hello Ada' });
});

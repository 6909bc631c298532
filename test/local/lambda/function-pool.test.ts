import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FunctionPool, type PoolOptions } from '../../../local/lambda/function-pool.ts';
import { FunctionTable } from '../../../local/lambda/function-table.ts';
import type { FunctionSpec, RunnerEvent } from '../../../local/lambda/specs.ts';
import { type Children, openChildren } from '../../../local/processes/children.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { handler } from './runner-fixture.ts';

let children: Children;
beforeAll(() => {
  children = openChildren();
});
afterAll(() => children.close());

async function build(source: string, spec: Partial<FunctionSpec> = {}): Promise<FunctionSpec> {
  const bundle = join(await temporaryFolder(), 'f.mjs');
  await writeFile(bundle, source);
  return { name: 'f', bundle, timeoutSeconds: 5, memoryMb: 256, environment: {}, ...spec };
}

async function openPool(source: string, options: Partial<PoolOptions> = {}, timeoutSeconds = 5) {
  const events: RunnerEvent[] = [];
  const spec = await build(source, { timeoutSeconds });
  const onEvent = (event: RunnerEvent) => events.push(event);
  const pool = new FunctionPool({ spec, functionArn: 'arn', region: 'us-east-1', children, onEvent, ...options });
  return { pool, events };
}

it('an init that exceeds its limit is repeated within the timeout of the function', async () => {
  const slow = `await new Promise((r) => setTimeout(r, 300)); ${handler('return 1;')}`;
  const { pool, events } = await openPool(slow, { initLimitMs: 150 });

  const outcome = await pool.invoke('{}');

  expect(outcome).toEqual({ kind: 'success', body: '1' });
  expect(events).toEqual([]);
  await pool.drain();
});

it('an init that exceeds the timeout of the function fails', async () => {
  const stuck = 'await new Promise((r) => setTimeout(r, 60_000));';
  const { pool, events } = await openPool(stuck, { initLimitMs: 100 }, 0.3);

  const outcome = await pool.invoke('{}');

  expect(outcome).toMatchObject({ kind: 'init-failed', error: { errorType: 'Sandbox.Timedout' } });
  expect(events.map(({ kind }) => kind)).toEqual(['init-failed']);
  expect(pool.pids()).toEqual([]);
});

it('two idle environments are kept', async () => {
  const end = join(await temporaryFolder(), 'end');
  const untilEnd = `const { existsSync } = await import('node:fs');
    while (!existsSync(${JSON.stringify(end)})) await new Promise((r) => setTimeout(r, 20));`;
  const { pool } = await openPool(handler(untilEnd), { idleLimitMs: 300 }, 120);
  const invocations = Promise.all([1, 2, 3, 4].map(() => pool.invoke('{}')));
  await eventually(() => expect(pool.pids()).toHaveLength(4));

  await writeFile(end, '');
  await invocations;

  await eventually(() => expect(pool.pids()).toHaveLength(2));
  await pool.drain();
  await eventually(() => expect(pool.pids()).toEqual([]));
});

it('a failed asynchronous invocation is retried as often as the function specifies', async () => {
  const lines: string[] = [];
  const functions = new FunctionTable({
    children,
    region: 'us-east-1',
    accountId: '000000000000',
    onEvent: ({ stream, message }) => stream === 'stdout' && lines.push(message),
    eventRetryMs: [10, 10],
  });
  functions.add(await build(handler("console.log('one'); throw new Error('no');"), { name: 'one', eventRetries: 1 }));
  functions.add(await build(handler("console.log('none'); throw new Error('no');"), { name: 'none' }));

  functions.invokeLater('one', '{}');
  functions.invokeLater('none', '{}');

  await eventually(() => expect(lines.sort()).toEqual(['none', 'one', 'one']));
  await functions.drain();
  expect(lines).toHaveLength(3);
});

it.each([
  ['exit', 'process.exit(3);'],
  ['timeout', 'for (;;);'],
])('the end of a process names the request and the jobs of its event: %s', async (kind, body) => {
  const { pool, events } = await openPool(handler(body), {}, 1);
  const record = (job: string) => ({ body: JSON.stringify({ v: 1, epoch: 'e', job, claim: '1' }) });
  const Records = [record('7'), { body: 'not a job' }, record('8')];

  await pool.invoke(JSON.stringify({ Records }), 'r-1');

  expect(events).toMatchObject([{ kind, requestId: 'r-1', jobIds: ['7', '8'] }]);
});

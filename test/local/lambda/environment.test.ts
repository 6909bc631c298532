import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { isGone, state } from './process-state.ts';
import { handler, openRunner, type RunnerFixture } from './runner-fixture.ts';

let fixture: RunnerFixture;
beforeAll(async () => {
  fixture = await openRunner();
});
afterAll(() => fixture.close());

const invoke = (name: string, payload: unknown = {}) => fixture.runner.invoke(name, payload, 'RequestResponse');

it('a handler receives its event and context, and its process is reused', async () => {
  await fixture.add(
    'echo',
    `let runs = 0; ${handler('runs += 1; return { event, runs, left: context.getRemainingTimeInMillis(), ...context };')}`,
    { timeoutSeconds: 7, memoryMb: 200 },
  );

  await invoke('echo', { first: true });
  const { payload, functionError } = await invoke('echo', { text: 'zwölf' });

  expect(functionError).toBeUndefined();
  expect(payload).toMatchObject({
    event: { text: 'zwölf' },
    runs: 2,
    functionName: 'echo',
    memoryLimitInMB: '200',
    invokedFunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:echo',
    awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect((payload as { left: number }).left).toBeGreaterThan(6_000);
  expect(fixture.runner.environments('echo')).toHaveLength(1);
});

it('a process has the variables of Lambda and of its function, and none of its parent', async () => {
  process.env.PARENT_SECRET = 'x';
  await fixture.add('variables', handler('return process.env;'), {
    environment: { OWN: 'o', AWS_REGION: 'eu-west-1' },
  });

  const { payload } = await invoke('variables');

  delete process.env.PARENT_SECRET;
  expect(payload).not.toHaveProperty('PARENT_SECRET');
  expect(payload).not.toHaveProperty('HOME');
  expect(payload).toMatchObject({
    OWN: 'o',
    AWS_REGION: 'eu-west-1',
    AWS_LAMBDA_FUNCTION_NAME: 'variables',
    TZ: ':UTC',
  });
});

it('the heap limit of V8 follows the memory of the function', async () => {
  const body = "const v8 = await import('node:v8'); return v8.getHeapStatistics().heap_size_limit / 2 ** 20;";
  await fixture.add('heap', handler(body), { memoryMb: 256 });

  const { payload } = await invoke('heap');

  expect(payload).toBeGreaterThan(200);
  expect(payload).toBeLessThanOrEqual(280);
});

it('concurrent invocations run in separate processes', async () => {
  await fixture.add('pid', handler('await new Promise((r) => setTimeout(r, 300)); return process.pid;'));

  const answers = await Promise.all([invoke('pid'), invoke('pid'), invoke('pid')]);

  expect(new Set(answers.map(({ payload }) => payload)).size).toBe(3);
  expect(fixture.runner.environments('pid').sort()).toEqual(answers.map(({ payload }) => payload as number).sort());
});

it('printed lines are complete and have their request id', async () => {
  await fixture.add(
    'lines',
    handler("process.stdout.write('ha'); process.stdout.write('lf\\nö'); console.error('e');"),
  );

  await invoke('lines');
  fixture.runner.removeFunction('lines');

  await eventually(() => expect(fixture.lines()).toContain('ö'));
  const lines = fixture.events.filter(({ functionName }) => functionName === 'lines');
  expect(lines.map(({ stream, message }) => `${stream} ${message}`).sort()).toEqual([
    'stderr e',
    'stdout half',
    'stdout ö',
  ]);
  expect(lines.every(({ requestId }) => /^[0-9a-f-]{36}$/.test(requestId ?? ''))).toBe(true);
});

it('an environment is stopped between invocations', async () => {
  await fixture.add('ticks', `let ticks = 0; setInterval(() => { ticks += 1; }, 5); ${handler('return ticks;')}`);

  await invoke('ticks');
  const [pid] = fixture.runner.environments('ticks');
  await eventually(() => expect(state(pid!)).toBe('T'));
  const { payload } = await invoke('ticks');

  expect(payload).toBeTypeOf('number');
  expect(fixture.runner.environments('ticks')).toEqual([pid]);
});

it('new code serves new invocations while running ones finish with the old code', async () => {
  const version = (n: number) => handler(`await new Promise((r) => setTimeout(r, event.ms)); return ${n};`);
  await fixture.add('versions', version(1));
  await invoke('versions', { ms: 0 });
  const [old] = fixture.runner.environments('versions');

  const atWork = invoke('versions', { ms: 300 });
  fixture.runner.replaceFunction(await fixture.build('versions', version(2)));
  const after = await invoke('versions', { ms: 0 });

  expect(after.payload).toBe(2);
  expect((await atWork).payload).toBe(1);
  await eventually(() => expect(isGone(old!)).toBe(true));
});

it('an asynchronous invocation returns before the function has run', async () => {
  await fixture.add('later', handler("await new Promise((r) => setTimeout(r, 100)); console.log('later', event.n);"));

  const answer = await fixture.runner.invoke('later', { n: 1 }, 'Event');
  const linesThen = fixture.lines().includes('later 1');

  expect(answer).toEqual({ payload: null });
  expect(linesThen).toBe(false);
  await eventually(() => expect(fixture.lines()).toContain('later 1'));
});

it('invoke rejects for an unknown function', async () => {
  await expect(invoke('unknown')).rejects.toMatchObject({ code: 'FUNCTION_NOT_FOUND' });
});

it('close waits for running invocations within the grace period and kills longer ones', async () => {
  const own = await openRunner();
  await own.add('short', handler("await new Promise((r) => setTimeout(r, 200)); return 'done';"));
  await own.add('long', handler('await new Promise((r) => setTimeout(r, 600_000));'));
  const short = own.runner.invoke('short', {}, 'RequestResponse');
  const long = own.runner.invoke('long', {}, 'RequestResponse');
  await eventually(() => expect(own.runner.environments()).toHaveLength(2));

  await own.runner.close({ graceMs: 1_000 });

  expect((await short).payload).toBe('done');
  expect((await long).payload).toMatchObject({ errorType: 'Runtime.ExitError' });
  expect(own.runner.environments()).toEqual([]);
  await own.close();
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { handler, openRunner, type RunnerFixture } from './runner-fixture.ts';

let fixture: RunnerFixture;
beforeAll(async () => {
  fixture = await openRunner();
});
afterAll(() => fixture.close());

const invoke = (name: string, payload: unknown = {}) => fixture.runner.invoke(name, payload, 'RequestResponse');
const eventsOf = (name: string) =>
  fixture.events.filter(({ functionName, kind }) => functionName === name && kind !== 'log');

/** The kernel's letter for what a process does: T stopped, Z zombie; undefined when it is gone. */
function state(pid: number): string | undefined {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
const isGone = (pid: number): boolean => [undefined, 'Z', 'X'].includes(state(pid));

test('a handler gets its event and context and stays warm', async () => {
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

test('the process sees what Lambda sets and the function its own, and nothing of its parent', async () => {
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

test('concurrent invocations run in processes of their own', async () => {
  await fixture.add('pid', handler('await new Promise((r) => setTimeout(r, 300)); return process.pid;'));

  const answers = await Promise.all([invoke('pid'), invoke('pid'), invoke('pid')]);

  expect(new Set(answers.map(({ payload }) => payload)).size).toBe(3);
  expect(fixture.runner.environments('pid').sort()).toEqual(answers.map(({ payload }) => payload as number).sort());
});

test('lines arrive whole, with their request', async () => {
  await fixture.add(
    'lines',
    handler("process.stdout.write('ha'); process.stdout.write('lf\\nö'); console.error('e');"),
  );

  await invoke('lines');
  fixture.runner.removeFunction('lines');

  await expect.poll(() => fixture.lines()).toContain('ö');
  const lines = fixture.events.filter(({ functionName }) => functionName === 'lines');
  expect(lines.map(({ stream, message }) => `${stream} ${message}`).sort()).toEqual([
    'stderr e',
    'stdout half',
    'stdout ö',
  ]);
  expect(lines.every(({ requestId }) => /^[0-9a-f-]{36}$/.test(requestId ?? ''))).toBe(true);
});

test('an environment is stopped between invocations', async () => {
  await fixture.add('ticks', `let ticks = 0; setInterval(() => { ticks += 1; }, 5); ${handler('return ticks;')}`);

  await invoke('ticks');
  const [pid] = fixture.runner.environments('ticks');
  const stateBetween = state(pid!);
  const { payload } = await invoke('ticks');

  expect(stateBetween).toBe('T');
  expect(payload).toBeTypeOf('number');
  expect(fixture.runner.environments('ticks')).toEqual([pid]);
});

test('a thrown error is the answer, and the process lives on', async () => {
  await fixture.add('throws', handler("class Odd extends Error { name = 'Odd' } throw new Odd('no');"));

  const { payload, functionError } = await invoke('throws');

  expect(functionError).toBe('Unhandled');
  expect(payload).toMatchObject({ errorType: 'Odd', errorMessage: 'no', trace: expect.arrayContaining(['Odd: no']) });
  expect(fixture.runner.environments('throws')).toHaveLength(1);
  expect(eventsOf('throws')).toEqual([]);
});

test.each([
  ['awaits for ever', 'await new Promise(() => setInterval(() => {}, 1000));'],
  ['spins', 'for (;;);'],
])('a handler that %s is killed at the timeout', async (name, body) => {
  await fixture.add(name, handler(`console.log('pid', process.pid); ${body}`), { timeoutSeconds: 0.4 });

  const { payload, functionError } = await invoke(name);

  expect(functionError).toBe('Unhandled');
  expect(payload).toMatchObject({
    errorType: 'Sandbox.Timedout',
    errorMessage: expect.stringContaining('after 0.40 s'),
  });
  expect(eventsOf(name).map(({ kind }) => kind)).toEqual(['timeout']);
  expect(fixture.runner.environments(name)).toEqual([]);
});

test.each([
  ['exit-0', 'process.exit(0);', 'Runtime exited without providing a reason'],
  ['exit-1', 'process.exit(1);', 'Runtime exited with error: exit status 1'],
  ['killed', "process.kill(process.pid, 'SIGKILL');", 'Runtime exited with error: signal: killed'],
])('%s fails the invocation, and the next one gets a new process', async (name, body, message) => {
  await fixture.add(name, handler(`if (event.end) { ${body} } return 'alive';`));
  await invoke(name);
  const [before] = fixture.runner.environments(name);

  const { payload } = await invoke(name, { end: true });
  const next = await invoke(name);

  expect(payload).toMatchObject({ errorType: 'Runtime.ExitError', errorMessage: expect.stringContaining(message) });
  expect(next.payload).toBe('alive');
  expect(fixture.runner.environments(name)).not.toContain(before);
  expect(eventsOf(name)).toMatchObject([{ kind: 'exit', message, requestId: expect.any(String) }]);
});

test('an error outside the handler is reported before the process ends', async () => {
  await fixture.add(
    'loose',
    handler("setTimeout(() => { throw new RangeError('loose'); }); await new Promise(() => {});"),
  );

  const { payload } = await invoke('loose');

  expect(payload).toMatchObject({ errorType: 'RangeError', errorMessage: 'loose' });
  await expect.poll(() => fixture.runner.environments('loose')).toEqual([]);
});

test('a process that outgrows its memory is killed, buffers included', async () => {
  const grow =
    'const all = []; for (;;) { all.push(Buffer.alloc(8e6, 1)); await new Promise((r) => setTimeout(r, 4)); }';
  await fixture.add('grows', handler(grow), { memoryMb: 150 });

  const { payload } = await invoke('grows');

  expect(payload).toMatchObject({ errorType: 'Runtime.OutOfMemory' });
  expect(eventsOf('grows')).toMatchObject([
    { kind: 'out-of-memory', message: 'used more than its 150 MB and was killed' },
  ]);
});

test.each([
  ['import-throws', "\nthrow new TypeError('bad start');", /^TypeError: bad start \(\/.*import-throws-\d+\.mjs:2\)$/],
  ['no-handler', 'export const other = 1;', /^Runtime\.HandlerNotFound: .* exports no function "handler"/],
  ['init-exits', 'process.exit(0);', /Runtime exited without providing a reason$/],
  ['syntax', 'export function {', /^SyntaxError: /],
])('an init that fails (%s) says where', async (name, source, message) => {
  await fixture.add(name, source);

  const { functionError } = await invoke(name);

  expect(functionError).toBe('Unhandled');
  expect(eventsOf(name)).toMatchObject([{ kind: 'init-failed', message: expect.stringMatching(message) }]);
  expect(fixture.runner.environments(name)).toEqual([]);
});

test('a response that JSON cannot say is an error of the function', async () => {
  await fixture.add('bigint', handler('return 1n;'));

  const { payload, functionError } = await invoke('bigint');

  expect(functionError).toBe('Unhandled');
  expect(payload).toMatchObject({ errorType: 'TypeError' });
});

test('a response that is not JSON is an error of the function', async () => {
  await fixture.add(
    'garbage',
    `const api = 'http://' + process.env.AWS_LAMBDA_RUNTIME_API + '/2018-06-01/runtime/invocation/';
     for (;;) {
       const next = await fetch(api + 'next');
       const id = next.headers.get('lambda-runtime-aws-request-id');
       await fetch(api + id + '/response', { method: 'POST', body: '{"half' });
     }`,
  );

  const { payload, functionError } = await invoke('garbage');

  expect(functionError).toBe('Unhandled');
  expect(payload).toMatchObject({ errorType: 'Runtime.InvalidResponse' });
});

test('a grandchild dies with the environment', async () => {
  const start = "const { spawn } = await import('node:child_process'); const { pid } = spawn('sleep', ['300']);";
  await fixture.add('parent', handler(`${start} if (event.hang) await new Promise(() => {}); return pid;`), {
    timeoutSeconds: 1,
  });
  const { payload: grandchild } = await invoke('parent');

  await invoke('parent', { hang: true });

  await expect.poll(() => isGone(grandchild as number)).toBe(true);
});

test('new code takes over while invocations at work finish on the old', async () => {
  const version = (n: number) => handler(`await new Promise((r) => setTimeout(r, event.ms)); return ${n};`);
  await fixture.add('versions', version(1));
  await invoke('versions', { ms: 0 });
  const [old] = fixture.runner.environments('versions');

  const atWork = invoke('versions', { ms: 300 });
  fixture.runner.replaceFunction(await fixture.build('versions', version(2)));
  const after = await invoke('versions', { ms: 0 });

  expect(after.payload).toBe(2);
  expect((await atWork).payload).toBe(1);
  await expect.poll(() => isGone(old!)).toBe(true);
});

test('an asynchronous invocation is not waited for', async () => {
  await fixture.add('later', handler("await new Promise((r) => setTimeout(r, 100)); console.log('later', event.n);"));

  const answer = await fixture.runner.invoke('later', { n: 1 }, 'Event');
  const linesThen = fixture.lines().includes('later 1');

  expect(answer).toEqual({ payload: null });
  expect(linesThen).toBe(false);
  await expect.poll(() => fixture.lines()).toContain('later 1');
});

test('a function that does not exist is an error of the caller', async () => {
  await expect(invoke('nobody')).rejects.toMatchObject({ code: 'FUNCTION_NOT_FOUND' });
});

test('close lets invocations at work finish within the grace, and kills what is longer', async () => {
  const own = await openRunner();
  await own.add('short', handler("await new Promise((r) => setTimeout(r, 200)); return 'done';"));
  await own.add('long', handler('await new Promise((r) => setTimeout(r, 4000));'));
  const short = own.runner.invoke('short', {}, 'RequestResponse');
  const long = own.runner.invoke('long', {}, 'RequestResponse');
  await expect.poll(() => own.runner.environments()).toHaveLength(2);

  const started = Date.now();
  await own.runner.close({ graceMs: 1_000 });
  const took = Date.now() - started;

  expect((await short).payload).toBe('done');
  expect((await long).payload).toMatchObject({ errorType: 'Runtime.ExitError' });
  expect(took).toBeLessThan(3_000);
  expect(own.runner.environments()).toEqual([]);
  await own.close();
});

test('kill -9 of the runner leaves no environment, running, stopped or starting', async () => {
  const spec = await fixture.build('orphan', handler('if (event.hang) for (;;); return process.pid;'), {
    timeoutSeconds: 60,
  });
  const at = (path: string) => JSON.stringify(new URL(`../../../local/${path}`, import.meta.url).href);
  const parent = spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { openChildren } from ${at('children.ts')};
       import { startRunner } from ${at('lambda/runner.ts')};
       const runner = await startRunner({ children: openChildren(), sqsEndpoint: 'http://127.0.0.1:1' });
       runner.addFunction(${JSON.stringify(spec)});
       await Promise.all([1, 2].map(() => runner.invoke('orphan', {}, 'RequestResponse')));
       for (let n = 0; n < 2; n += 1) void runner.invoke('orphan', { hang: n === 0 }, 'RequestResponse');
       void runner.invoke('orphan', { hang: true }, 'RequestResponse');
       setImmediate(() => console.log(JSON.stringify(runner.environments())));`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = await once(createInterface({ input: parent.stdout! }), 'line');
  const pids = JSON.parse(line as string) as number[];

  parent.kill('SIGKILL');

  expect(pids.length).toBeGreaterThanOrEqual(2);
  await expect.poll(() => pids.filter((pid) => !isGone(pid)), { timeout: 5_000 }).toEqual([]);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { environmentsIn, isGone } from './process-state.ts';
import { handler, openRunner, type RunnerFixture } from './runner-fixture.ts';

let fixture: RunnerFixture;
beforeAll(async () => {
  fixture = await openRunner();
});
afterAll(() => fixture.close());

const invoke = (name: string, payload: unknown = {}) => fixture.runner.invoke(name, payload, 'RequestResponse');
const eventsOf = (name: string) =>
  fixture.events.filter(({ functionName, kind }) => functionName === name && kind !== 'log');

it('a thrown error is the result of the invocation, and the process stays', async () => {
  await fixture.add('throws', handler("class Odd extends Error { name = 'Odd' } throw new Odd('no');"));

  const { payload, functionError } = await invoke('throws');

  expect(functionError).toBe('Unhandled');
  expect(payload).toMatchObject({ errorType: 'Odd', errorMessage: 'no', trace: expect.arrayContaining(['Odd: no']) });
  expect(fixture.runner.environments('throws')).toHaveLength(1);
  expect(eventsOf('throws')).toEqual([]);
});

it.each([
  ['waits forever', 'await new Promise(() => setInterval(() => {}, 1000));'],
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

it.each([
  ['exit-0', 'process.exit(0);', 'Runtime exited without providing a reason'],
  ['exit-1', 'process.exit(1);', 'Runtime exited with error: exit status 1'],
  ['killed', "process.kill(process.pid, 'SIGKILL');", 'Runtime exited with error: signal: killed'],
])(
  'when the process ends (%s), the invocation fails and the next one starts a new process',
  async (name, body, message) => {
    await fixture.add(name, handler(`if (event.end) { ${body} } return 'alive';`));
    await invoke(name);
    const [before] = fixture.runner.environments(name);

    const { payload } = await invoke(name, { end: true });
    const next = await invoke(name);

    expect(payload).toMatchObject({ errorType: 'Runtime.ExitError', errorMessage: expect.stringContaining(message) });
    expect(next.payload).toBe('alive');
    expect(fixture.runner.environments(name)).not.toContain(before);
    expect(eventsOf(name)).toMatchObject([{ kind: 'exit', message, requestId: expect.any(String) }]);
  },
);

it('an error outside the handler is reported before the process ends', async () => {
  await fixture.add(
    'loose',
    handler("setTimeout(() => { throw new RangeError('loose'); }); await new Promise(() => {});"),
  );

  const { payload } = await invoke('loose');

  expect(payload).toMatchObject({ errorType: 'RangeError', errorMessage: 'loose' });
  await eventually(() => expect(fixture.runner.environments('loose')).toEqual([]));
});

it('a process that exceeds its memory is killed, buffers included', async () => {
  const grow =
    'const all = []; for (;;) { all.push(Buffer.alloc(8e6, 1)); await new Promise((r) => setTimeout(r, 4)); }';
  await fixture.add('grows', handler(grow), { memoryMb: 150 });

  const { payload } = await invoke('grows');

  expect(payload).toMatchObject({ errorType: 'Runtime.OutOfMemory' });
  expect(eventsOf('grows')).toMatchObject([
    { kind: 'out-of-memory', message: 'used more than its 150 MB and was killed' },
  ]);
});

it.each([
  ['import-throws', "\nthrow new TypeError('bad start');", /^TypeError: bad start \(\/.*import-throws-\d+\.mjs:2\)$/],
  ['no-handler', 'export const other = 1;', /^Runtime\.HandlerNotFound: .* exports no function "handler"$/],
  ['init-exits', 'process.exit(0);', /Runtime exited without providing a reason$/],
  ['syntax', 'export function {', /^SyntaxError: /],
])('a failed init (%s) is reported with its position', async (name, source, message) => {
  await fixture.add(name, source);

  const { functionError } = await invoke(name);

  expect(functionError).toBe('Unhandled');
  expect(eventsOf(name)).toMatchObject([{ kind: 'init-failed', message: expect.stringMatching(message) }]);
  expect(fixture.runner.environments(name)).toEqual([]);
});

it('a return value that JSON cannot represent is an error of the function', async () => {
  await fixture.add('bigint', handler('return 1n;'));

  const { payload, functionError } = await invoke('bigint');

  expect(functionError).toBe('Unhandled');
  expect(payload).toMatchObject({ errorType: 'TypeError' });
});

it('a response that is not JSON is an error of the function', async () => {
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

it('a grandchild dies with the environment', async () => {
  const start = "const { spawn } = await import('node:child_process'); const { pid } = spawn('sleep', ['300']);";
  await fixture.add('parent', handler(`${start} if (event.hang) await new Promise(() => {}); return pid;`), {
    timeoutSeconds: 1,
  });
  const { payload: grandchild } = await invoke('parent');

  await invoke('parent', { hang: true });

  await eventually(() => expect(isGone(grandchild as number)).toBe(true));
});

it('kill -9 of the runner leaves no running, stopped or starting environment', async () => {
  const own = await openRunner();
  const spec = await own.build('orphan', handler("if (event.spin) for (;;); if (event.print) console.log('up');"));
  const at = (path: string) => JSON.stringify(new URL(`../../../local/${path}`, import.meta.url).href);
  const parent = spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { openChildren } from ${at('processes/children.ts')};
       import { startRunner } from ${at('lambda/runner.ts')};
       const onEvent = (event) => event.message === 'up' && console.log('ready');
       const addresses = { sqsEndpoint: 'http://127.0.0.1:1', accessKeyId: 'test' };
       const runner = await startRunner({ children: openChildren(), ...addresses, onEvent });
       runner.addFunction(${JSON.stringify({ ...spec, timeoutSeconds: 60 })});
       const invoke = (payload) => runner.invoke('orphan', payload, 'RequestResponse');
       await Promise.all([invoke({}), invoke({})]);
       for (const payload of [{ spin: true }, { spin: true }, { spin: true }, { print: true }]) void invoke(payload);
       await invoke({});`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void parent.kill('SIGKILL'));
  await once(createInterface({ input: parent.stdout! }), 'line');
  const alive = environmentsIn(dirname(spec.bundle));

  parent.kill('SIGKILL');

  expect(alive.length).toBeGreaterThanOrEqual(3);
  await eventually(() => expect(environmentsIn(dirname(spec.bundle))).toEqual([]));
  await own.close();
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { drain, recordAtStop } from '../../local/drain.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { handler, openRunner } from './lambda/runner-fixture.ts';

const record = (job: string) => ({ body: JSON.stringify({ v: 1, epoch: 'e', job, claim: '1' }) });
const SLOW = handler('await new Promise((resolve) => setTimeout(resolve, event.ms)); return 1;');

it('waits for jobs until the timeout of their function, and for nothing else', async () => {
  const own = await openRunner();
  for (const name of ['jobs', 'other']) await own.add(name, SLOW, { timeoutSeconds: 300 });
  const jobs = own.runner.invoke('jobs', { ms: 1_000, Records: [record('7')] }, 'RequestResponse');
  const other = own.runner.invoke('other', { ms: 200_000 }, 'RequestResponse');
  expect(own.runner.runningJobs()).toMatchObject([{ functionName: 'jobs', jobIds: ['7'] }]);

  await own.runner.close({ graceMs: 0, finishJobs: true });

  expect(await jobs).toEqual({ payload: 1 });
  expect(await other).toMatchObject({ functionError: 'Unhandled' });
  await own.close();
});

it.each([
  ['SIGINT', true],
  ['SIGTERM', true],
  ['SIGHUP', false],
  ['its output was closed', false],
])('after %s, lets jobs use their timeout: %s', async (reason, finishJobs) => {
  const stop = AbortSignal.abort(reason);
  const close = vi.fn(async () => undefined);
  const deps = { db: noDatabase(), data: await temporaryFolder(), printLine: () => undefined, stop };

  await drain({ runningJobs: () => [], close }, { ...deps, halt: new AbortController().signal });

  expect(close).toHaveBeenCalledWith(expect.objectContaining({ finishJobs }));
});

it('ends the dispatcher also if it registers its run only while the stack waits', async () => {
  const { promise: closed, resolve: finish } = Promise.withResolvers<void>();
  const isRegistered = [false, true];
  const endDispatcher = async () => (isRegistered.shift() === true ? finish() : undefined);
  const deps = { db: noDatabase(), data: await temporaryFolder(), printLine: () => undefined, endDispatcher };

  await drain(
    { runningJobs: () => [], close: () => closed },
    { ...deps, stop: AbortSignal.abort('SIGINT'), halt: new AbortController().signal },
  );

  expect(isRegistered).toEqual([]);
});

it('says at once what it waits for, also without a database', async () => {
  const lines: string[] = [];
  const data = await temporaryFolder();
  const jobs = { functionName: 'f', requestId: 'r-1', jobIds: ['7'], deadlineMs: Date.now() + 300_000 };
  const { promise: closed, resolve: finish } = Promise.withResolvers<void>();
  const printLine = (line: string) => {
    lines.push(line);
    finish();
  };
  const halt = new AbortController().signal;

  await drain(
    { runningJobs: () => [jobs], close: () => closed },
    { db: noDatabase(), data, printLine, stop: AbortSignal.abort('SIGINT'), halt },
  );

  expect(lines).toEqual(['waiting for 1 running job, at most 5m; Ctrl-C again ends it now']);
});

it('stores what runs when the stop is requested, and again at the second request', async () => {
  const data = await temporaryFolder();
  const [stop, halt] = [new AbortController(), new AbortController()];
  const all = ['r-1', 'r-2'].map((requestId) => ({ functionName: 'f', requestId, jobIds: ['7'], deadlineMs: 0 }));
  const runner = { runningJobs: () => (halt.signal.aborted ? all : all.slice(0, 1)), close: async () => undefined };
  recordAtStop(runner, { db: noDatabase(), data, printLine: () => undefined, stop: stop.signal, halt: halt.signal });
  const stored = async () => JSON.parse(await readFile(join(data, 'running-at-stop.json'), 'utf8'));

  stop.abort('SIGTERM');
  const first = await stored();
  halt.abort();

  expect(first).toEqual([{ functionName: 'f', requestId: 'r-1' }]);
  expect(await stored()).toHaveLength(2);
});

function noDatabase() {
  return { keyed: { query: () => Promise.reject(new Error('the database is gone')) } };
}

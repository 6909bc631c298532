import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { openUncaughtErrors, owned, type UncaughtError } from '../../../core/run/uncaught-errors.ts';

type Reported = [listener: string, error: unknown, detail: unknown];

/** A process with a runtime's listeners for these events, whose calls are recorded. */
function openProcess(events = ['uncaughtException', 'unhandledRejection']) {
  const reported: Reported[] = [];
  const exit = (code?: number) => void reported.push(['exit', code, undefined]) as never;
  const abort = () => void reported.push(['abort', undefined, undefined]) as never;
  const source = Object.assign(new EventEmitter(), { exit, abort });
  for (const event of events) source.on(event, (error, detail) => reported.push([event, error, detail]));
  return { source, reported, uncaught: openUncaughtErrors(source) };
}

it('withholds errors from the runtime while it is watched, and passes each on when requested', () => {
  const { source, reported, uncaught } = openProcess();
  const seen: UncaughtError[] = [];
  uncaught.watch((one) => seen.push(one));

  source.emit('uncaughtException', 'first', 'uncaughtException');
  const before = reported.length;
  seen[0]?.pass();

  expect(before).toBe(0);
  expect(reported).toEqual([['uncaughtException', 'first', 'uncaughtException']]);
});

it('passes errors on at once when it is no longer watched', () => {
  const { source, reported, uncaught } = openProcess();
  uncaught.watch(() => undefined)();

  source.emit('unhandledRejection', 'late', 'promise');
  source.exit(1);
  source.abort();

  expect(reported).toEqual([
    ['unhandledRejection', 'late', 'promise'],
    ['exit', 1, undefined],
    ['abort', undefined, undefined],
  ]);
});

it('names the attempt whose code raised the error, even in a callback', async () => {
  const { source, uncaught } = openProcess();
  const owner = { jobId: '7' };
  const owners: unknown[] = [];
  uncaught.watch((one) => owners.push(one.owner));

  await owned(owner, async () => {
    await new Promise<void>((resolve) => setImmediate(resolve));
    source.emit('unhandledRejection', 'error', 'promise');
  });
  source.emit('uncaughtException', 'error', 'uncaughtException');

  expect(owners).toEqual([owner, undefined]);
});

it('passes a rejection to the listeners of exceptions if rejections have no listeners, as Node does', () => {
  const { source, reported, uncaught } = openProcess(['uncaughtException']);
  uncaught.watch(() => undefined)();

  source.emit('unhandledRejection', 'reason', 'promise');

  expect(reported).toEqual([['uncaughtException', 'reason', 'unhandledRejection']]);
});

it('throws an error that is passed on when no listener exists, so that Node ends the process', () => {
  const { source, uncaught } = openProcess([]);
  uncaught.watch(() => undefined)();

  expect(() => source.emit('uncaughtException', new Error('raised'))).toThrow('raised');
});

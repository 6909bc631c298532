import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { openUncaughtErrors } from '../../../core/run/uncaught-errors.ts';
import { systemTime, type Time } from '../../../core/time.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine({ timeout: '14m' });

/** The second between two settles lasts 20 ms, and no timeout fires. */
const quickTime: Time = {
  now: () => systemTime.now() * 50,
  sleep: (ms, signal) => systemTime.sleep(ms > 60_000 ? ms : ms / 50, signal),
};

it.each([
  ['exit', (source: Source) => source.exit(3)],
  ['abort', (source: Source) => source.abort()],
  ['raise an error that is not caught', (source: Source) => source.emit('uncaughtException', new Error('raised'))],
])('of several jobs of a batch that %s, each starts its next attempt alone', async (_what, end) => {
  const { ids, records } = await engine.deliver(4);
  const source = Object.assign(new EventEmitter(), { exit: () => undefined as never, abort: () => undefined as never });
  source.on('uncaughtException', () => undefined);
  engine.work = async ({ jobId }) => {
    if (jobId === ids[3]) return 'done';
    end(source);
    throw new Error('failed after it');
  };

  await engine.run(records, {
    deps: { time: quickTime, uncaught: openUncaughtErrors(source) },
    remainingMs: () => 900_000,
  });

  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states.slice(0, 3).map(({ suspect }) => suspect)).toEqual([true, true, true]);
  expect(states[3]).toMatchObject({ status: 'succeeded' });
});

interface Source extends EventEmitter {
  exit: (code?: number) => never;
  abort: () => never;
}

import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { optionsOf, runtime } from './uncaught-runtime.ts';

const engine = await openDatabaseEngine({ timeout: '14m' });

type Runtime = ReturnType<typeof runtime>;

it.each([
  ['exit', ({ source }: Runtime) => source.exit(3)],
  ['abort', ({ source }: Runtime) => source.abort()],
  ['raise an error that is not caught', ({ raise }: Runtime) => raise('uncaughtException')],
])('of several jobs of a batch that %s, each starts its next attempt alone', async (_what, end) => {
  const { ids, records } = await engine.deliver(4);
  const given = runtime();
  engine.work = async ({ jobId }) => {
    if (jobId === ids[3]) return 'done';
    end(given);
    throw new Error('failed after it');
  };

  await engine.run(records, optionsOf(given.uncaught));

  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states.slice(0, 3).map(({ suspect }) => suspect)).toEqual([true, true, true]);
  expect(states[3]).toMatchObject({ status: 'succeeded' });
});

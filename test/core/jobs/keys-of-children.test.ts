import { expect, it } from 'vitest';
import { enqueue } from '../../../core/enqueue/enqueue.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { look, merge } from './family.ts';

const engine = await openDatabaseEngine();

it.each([{ uniqueKey: 'once' }, { uniqueBy: 'payload' } as const])(
  'a key for the job that waits is refused, because a job with the key may run already: %j',
  async (key) => {
    const { records, ids } = await engine.deliver(1);
    engine.work = ({ enqueueChildren }) =>
      enqueueChildren([], { onAllFinished: { handler: merge, payload: {}, ...key } });

    await engine.run(records);

    const expected = expect.stringContaining(`onAllFinished.${Object.keys(key)}`);
    expect(await engine.state(ids[0]!)).toMatchObject({ last_error: expected });
  },
);

it('a child whose key a finished job still holds has finished', async () => {
  const held = { handler: merge, payload: {}, uniqueKey: 'hourly', uniqueFor: '1h' };
  const { id } = await enqueue(engine.database.pool, merge, {}, { uniqueKey: 'hourly', uniqueFor: '1h' });
  await engine.sql('select millrace.finish_late(array[$1::bigint])', [id]);
  const { records } = await engine.deliver(1);
  engine.work = ({ enqueueChildren }) => enqueueChildren([held], { onAllFinished: { handler: merge, payload: 2 } });
  await engine.run(records);

  expect(await look(engine)).toBe(1);
  expect(await engine.sql('select children::text[] from millrace.job_joins')).toEqual([{ children: [id] }]);
});

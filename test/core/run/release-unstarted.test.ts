import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

/** An invocation that has time only for releases. */
const tooLate = { remainingMs: () => 1_000 };

it('releases unstarted claims when the time is too short, and acknowledges their messages', async () => {
  const { ids, records } = await engine.deliver(3);

  const ran = await engine.run(records, tooLate);

  expect(ran.failed).toEqual([]);
  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(states).toMatchObject(ids.map(() => ({ status: 'pending', attempts: 0 })));
});

it('does not release the claim that a message from another epoch names, and bounces that message', async () => {
  const { ids, records } = await engine.deliver(2);
  const [own, foreign] = records;
  const { claim_no } = await engine.state(ids[1]!);
  const body = engine.body(ids[1]!, claim_no!, 'another0life');

  const ran = await engine.run([own!, { ...foreign!, body }], tooLate);

  expect(ran.failed).toEqual([foreign!.messageId]);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'pending' });
  expect(await engine.state(ids[1]!)).toMatchObject({ status: 'dispatched', claim_no });
});

it('bounces only the foreign one of two messages that name one claim', async () => {
  const { ids, records } = await engine.deliver(1);
  const { claim_no } = await engine.state(ids[0]!);
  const twin = { ...records[0]!, messageId: 'twin', body: engine.body(ids[0]!, claim_no!, 'another0life') };

  const ran = await engine.run([records[0]!, twin], tooLate);

  expect(ran.failed).toEqual(['twin']);
  expect(engine.lines.filter(({ event }) => event === 'released_unstarted')).toMatchObject([{ jobs: 1, released: 1 }]);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'pending' });
});

import { expect, it } from 'vitest';
import { nextRedrives, startRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

it('the dispatcher reads the running redrives without their filters', async () => {
  const id = await startRedrive(engine.db, { jobTypes: Array.from({ length: 1000 }, (_, n) => `type_${n}`) });

  const running = await nextRedrives(engine.db, 20);

  expect(running).toEqual([{ id, ratePerSecond: null, done: 0, requestedBy: expect.any(String) }]);
});

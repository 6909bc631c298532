import { expect, it } from 'vitest';
import { HANDLER_WAIT_MS, SETTLE_RESERVE_SECONDS } from '../../../core/handler/timing.ts';
import { SIGN_OF_LIFE_MS } from '../../../core/postgres/pool.ts';

it('a lost connection, a new one and a statement fit into the reserve at the end of an invocation', () => {
  expect(SIGN_OF_LIFE_MS + 2 * HANDLER_WAIT_MS).toBeLessThanOrEqual(SETTLE_RESERVE_SECONDS * 1000);
});

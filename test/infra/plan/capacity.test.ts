import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineHandler } from '../../../core/handler/handler.ts';
import { connectionsOf, reserves } from '../../../infra/plan/capacity.ts';
import { planHandler } from '../../../infra/plan/handler-plan.ts';
import { prove } from '../../../infra/plan/proofs.ts';

const definition = defineHandler({ jobType: 'send_invoice', payload: z.object({}), run: async () => undefined });
const GOOD = planHandler('prod', { definition, file: '/handlers/send-invoice.ts', name: 'send_invoice' });
const RESERVED = { dispatcher: 5, api: 10 };

describe('reserved concurrency', () => {
  it.each([
    ['of an account with the usual limit', { accountConcurrency: 1000, maxConnections: 200 }, RESERVED],
    [
      'of an API whose connections are not counted',
      { accountConcurrency: 1000, maxConnections: undefined },
      { ...RESERVED, api: undefined },
    ],
    ['that leaves exactly 100', { accountConcurrency: 115, maxConnections: 200 }, RESERVED],
    ['for the dispatcher only', { accountConcurrency: 114, maxConnections: 200 }, { ...RESERVED, api: undefined }],
    [
      'of a new account, where AWS allows none',
      { accountConcurrency: 10, maxConnections: 200 },
      { dispatcher: undefined, api: undefined },
    ],
  ])('%s', (_case, capacity, expected) => {
    expect(reserves(capacity)).toEqual(expected);
  });
});

describe('the concurrency of all functions', () => {
  const proving = (concurrency: number, accountConcurrency: number) => () =>
    prove({
      ...{ stage: 'prod', drain: [], apiConcurrency: 10, maxConnections: undefined, accountConcurrency },
      handlers: [
        { ...GOOD, concurrency, dispatchedLease: 99_999 },
        { ...GOOD, name: 'nap', queueName: 'nap', deadLetterQueueName: 'nap-dlq' },
      ],
    });

  it('within the limit of the account is accepted', () => {
    expect(proving(982, 1000)).not.toThrow();
    // A new account has a limit of 10, and nothing can be reserved.
    expect(proving(2, 17)).not.toThrow();
  });

  it('above the limit of the account is refused with the sum and the handler of the highest concurrency', () => {
    expect(proving(983, 1000)).toThrow(
      'accountConcurrency: up to 1001 functions can run at once (993 for handlers, 8 for the others), and the account allows 1000; lower concurrency, first that of send_invoice (983), or have AWS raise the limit of the account, then set accountConcurrency',
    );
    expect(proving(2, 16)).toThrow(/^accountConcurrency: up to 17 functions .*first that of nap \(10\)/);
  });
});

it('a new database has a known limit of connections, an existing one has not', () => {
  expect(connectionsOf({ kind: 'create' })).toBe(1669);
  expect(connectionsOf({ kind: 'existing', ownerSecret: 'a', runtimeSecret: 'b' })).toBeUndefined();
});

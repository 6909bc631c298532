import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Skip } from '../../../../core/handler/chosen-outcome.ts';
import { defineHandler } from '../../../../core/handler/handler.ts';
import { attempt, attemptOf, throwing } from './one-attempt.ts';

/** Not a literal, so that the type checker does not look for a file of this name. */
const OTHER_COPY: string = '../../../../core/handler/chosen-outcome.ts?copy';

it.each([
  ['an error', new TypeError('refused'), { kind: 'failed', error: { name: 'TypeError', message: 'refused' } }],
  ['an error of a class of its own', new (class Refused extends Error {})('no'), { kind: 'failed', delaySeconds: 60 }],
])('fails as if it had thrown %s that it returns', async (_what, value, outcome) => {
  const ends = [await attempt(() => value), await attempt(throwing(value))];

  for (const end of ends) expect(end.outcome).toMatchObject(outcome);
});

describe('a result that cannot be read', () => {
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  const throwingThen = () =>
    Object.defineProperty({}, 'then', {
      get: () => {
        throw new Error('no');
      },
    });

  it.each([
    ['a revoked proxy', revoked],
    ['an object with a revoked proxy', () => ({ draft: revoked() })],
    ['an object whose `then` throws', throwingThen],
  ])('does not fail the attempt: %s', async (_what, make) => {
    const definition = { ...defineHandler({ jobType: 'work', payload: z.object({}), run: async () => 0 }), run: make };

    const end = await attemptOf(definition as never);

    expect(end.outcome).toMatchObject({ kind: 'succeeded' });
  });
});

describe('outcomes from another copy of the package', () => {
  it('are recognised, thrown or returned', async () => {
    const copy: typeof import('../../../../core/handler/chosen-outcome.ts') = await import(OTHER_COPY);
    expect(copy.Skip).not.toBe(Skip);
    const choices: [Error, object][] = [
      [new copy.RetryAfter('90s', '429'), { kind: 'failed', delaySeconds: 90 }],
      [new copy.RetryAfter(null, '429'), { kind: 'failed', delaySeconds: 60 }],
      [new copy.Snooze('10m'), { kind: 'snoozed', delaySeconds: 600 }],
      [new copy.Skip('nothing to do'), { kind: 'skipped' }],
      [new copy.Cancel('no longer wanted'), { kind: 'cancelled' }],
      [new copy.DeadLetter('hopeless'), { kind: 'dead_letter' }],
    ];

    for (const [choice, outcome] of choices) {
      for (const end of [await attempt(throwing(choice)), await attempt(() => choice)]) {
        expect(end.outcome).toMatchObject({ ...outcome, error: { name: choice.name, message: choice.message } });
      }
    }
  });

  it('of a version with another outcome are ordinary errors', async () => {
    const unknown = Object.assign(new Error('later'), { [Symbol.for('millrace.outcome')]: 'split' });

    expect((await attempt(throwing(unknown))).outcome).toMatchObject({ kind: 'failed', delaySeconds: 60 });
  });

  it('with an invalid delay wait for the delay of the policy', async () => {
    for (const delaySeconds of [undefined, Number.NaN, -1, '5', null]) {
      const odd = Object.assign(new Error('later'), { [Symbol.for('millrace.outcome')]: 'snoozed', delaySeconds });

      expect((await attempt(throwing(odd))).outcome).toMatchObject({ kind: 'snoozed', delaySeconds: 60 });
    }
  });
});

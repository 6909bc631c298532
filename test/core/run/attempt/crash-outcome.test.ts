import { expect, it } from 'vitest';
import { retry } from '../../../../core/handler/retry-policy.ts';
import { crashOutcome } from '../../../../core/run/attempt/crash-outcome.ts';

it.each([
  ['none', [100, 110]],
  [0, [100, 110]],
  [0.5, [100, 125]],
  ['full', [0, 50]],
  ['equal', [50, 75]],
] as const)('a crash spreads the delay by at least a fifth, with a jitter of %j', (jitter, delays) => {
  const policy = retry.fixed(100, { jitter });
  const attempt = { jobType: 'work', routingKey: '', attempts: 1 };

  const outcomes = [0, 0.5].map((chance) => crashOutcome({ ...policy, jitter }, attempt, { message: 'lost' }, chance));

  expect(outcomes.map((outcome) => 'delaySeconds' in outcome && outcome.delaySeconds)).toEqual(delays);
});

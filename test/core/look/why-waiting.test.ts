import { expect, it } from 'vitest';
import type { Job } from '../../../core/job.ts';
import { type Surroundings, whyWaiting } from '../../../core/look/why-waiting.ts';

const AROUND = { cancel_requested: false } as Surroundings;

it.each([
  ['TimedOut', 1, 'it is dead, because its retry policy does not retry TimedOut (retryOn, deadLetterOn), and does'],
  ['TimedOut', 3, 'it is dead and does not run again'],
  ['DeadLetter', 1, 'it is dead and does not run again'],
  ['PayloadInvalid', 1, 'it is dead and does not run again'],
])(
  'names the error that the policy does not retry, if attempts are left: %s, attempt %i of 3',
  (name, attempts, why) => {
    const job = { id: '7', jobType: 'a', routingKey: '', status: 'dead_letter', attempts, maxAttempts: 3 } as Job;
    const newest = { outcome: 'dead_letter', errorName: name, startedAt: new Date() };

    expect(whyWaiting(job, AROUND, newest)).toContain(why);
  },
);

it.each([
  ['a lost message', { outcome: 'dead_letter', errorName: 'MessageLost', startedAt: null }],
  ['a later redrive', { outcome: 'redriven', errorName: null, startedAt: null }],
  ['no history', undefined],
])('does not blame the policy for %s', (_what, newest) => {
  const job = { id: '7', jobType: 'a', routingKey: '', status: 'dead_letter', attempts: 1, maxAttempts: 3 } as Job;

  expect(whyWaiting(job, AROUND, newest)).toMatch(/^it is dead and does not run again/);
});

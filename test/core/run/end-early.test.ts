import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineHandler } from '../../../core/handler/handler.ts';
import { retry } from '../../../core/handler/retry-policy.ts';
import { openLog } from '../../../core/log.ts';
import { LatestProgress } from '../../../core/run/attempt/progress.ts';
import type { AttemptDeps } from '../../../core/run/attempt/run-attempt.ts';
import { endEarly, type OpenJob } from '../../../core/run/end-early.ts';
import { systemTime } from '../../../core/time.ts';

const deps: AttemptDeps = {
  definition: defineHandler({ jobType: 'work', payload: z.object({}), timeout: '5s', run: async () => undefined }),
  policy: retry.fixed('1m'),
  time: systemTime,
  log: openLog(() => undefined),
  random: () => 0.5,
};

/** A started job; with a result, it has succeeded with this result. */
function openJob(jobId: string, result?: string): OpenJob {
  const claim = { jobId, claimNo: '1' };
  const sqs = { messageId: jobId, receiptHandle: jobId, sentAt: 0, receiveCount: 1 };
  const attempt = { ...claim, payload: '{}', number: 1, max: 1, traceparent: null, progress: new LatestProgress() };
  const answer = { verdict: 'started', row: null, issued: true, native: true, waitSeconds: 0 } as const;
  const ended = { overstayed: false, number: 1, max: 1, durationMs: 1 };
  return {
    job: {
      delivery: { ...sqs, message: { ...claim, epoch: 'e' } },
      answer: { ...answer, payload: '{}', attempt: 1, maxAttempts: 1, traceparent: null },
    },
    attempt,
    entered: true,
    begun: 0,
    result: result === undefined ? undefined : { ...ended, outcome: { kind: 'succeeded', result } },
  };
}

const kindsOf = (open: readonly OpenJob[], owner: { jobId: string } | undefined, given = deps) =>
  endEarly(given, open, { owner, error: new Error('raised') }).map(({ delivery, result, suspect }) => ({
    id: delivery.message.jobId,
    kind: result.outcome.kind,
    suspect,
  }));

it.each([
  [
    'the job at fault',
    'b',
    [
      { id: 'a', kind: 'succeeded' },
      { id: 'c', kind: 'snoozed' },
    ],
  ],
  ['any running job', undefined, [{ id: 'a', kind: 'succeeded' }]],
])('returns the outcomes of the others if that of %s cannot be made', (_what, culprit, others) => {
  const open = [openJob('a', '"done"'), openJob('b'), openJob('c')];
  const random = () => {
    throw new Error('no');
  };

  const kinds = kindsOf(open, open.find(({ attempt }) => attempt.jobId === culprit)?.attempt, { ...deps, random });

  expect(kinds).toMatchObject(others);
});

it.each([
  ['one job', ['b']],
  ['two jobs', ['b', 'c']],
])('charges none of %s for an error of a job of an earlier batch', (_what, ids) => {
  const open = ids.map((id) => openJob(id));

  const kinds = kindsOf(open, { jobId: 'earlier' });

  expect(kinds).toEqual(ids.map((id) => ({ id, kind: 'snoozed', suspect: true })));
});

it.each([
  ['one job', ['b']],
  ['two jobs', ['b', 'c']],
])('charges %s that no known job ended', (_what, ids) => {
  const open = ids.map((id) => openJob(id));

  const kinds = kindsOf(open, undefined);

  expect(kinds).toEqual(ids.map((id) => ({ id, kind: 'failed', suspect: true })));
});

it('charges the job at fault with an error that cannot be read, and no other job', () => {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  const open = ['a', 'b', 'c'].map((id) => openJob(id, id === 'a' ? '"done"' : undefined));
  const error = Object.assign(new AggregateError([], 'hostile'), { errors: proxy });

  const ends = endEarly(deps, open, { owner: open[1]?.attempt, error });

  expect(ends.map(({ result }) => result.outcome)).toMatchObject([
    { kind: 'succeeded' },
    { kind: 'failed', error: { message: 'hostile' } },
    { kind: 'snoozed', error: { message: expect.stringMatching(/because of job b: AggregateError: hostile$/) } },
  ]);
});

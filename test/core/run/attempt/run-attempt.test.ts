import { expect, it } from 'vitest';
import { Cancel, DeadLetter, RetryAfter, Skip, Snooze } from '../../../../core/handler/chosen-outcome.ts';
import { retry } from '../../../../core/handler/retry-policy.ts';
import { systemTime } from '../../../../core/time.ts';
import { attempt, throwing } from './one-attempt.ts';

const never = () => new Promise(() => undefined);

it('passes the payload, the job id, the attempt and an unaborted signal to the handler', async () => {
  let seen: unknown;

  await attempt(
    ({ payload, jobId, attempt: which, signal }) => {
      seen = { payload, jobId, which, aborted: signal.aborted };
    },
    { payload: '{"n": 5}', number: 2 },
  );

  expect(seen).toEqual({ payload: { n: 5 }, jobId: '7', which: { number: 2, max: 4, isLast: false }, aborted: false });
});

it.each([
  [1, false],
  [3, false],
  [4, true],
  // An operator lowered max_attempts while the job ran.
  [5, true],
])('tells the handler whether attempt %i of 4 is the last one', async (number, isLast) => {
  const end = await attempt(({ attempt: which }) => which.isLast, { number });

  expect(end.outcome).toEqual({ kind: 'succeeded', result: `${isLast}` });
});

it.each([
  [{ done: true }, '{"done":true}'],
  [undefined, null],
  ['text', '"text"'],
])('succeeds with the result of the handler: %j', async (value, result) => {
  const end = await attempt(() => value);

  expect(end).toMatchObject({ outcome: { kind: 'succeeded', result }, overstayed: false, number: 1, max: 4 });
});

const CHOICES: [string, Error, object][] = [
  ['RetryAfter', new RetryAfter('90s'), { kind: 'failed', delaySeconds: 90 }],
  ["RetryAfter with a header's value", new RetryAfter('120'), { kind: 'failed', delaySeconds: 120 }],
  ['RetryAfter of a thousand years', new RetryAfter(3e10), { kind: 'failed', delaySeconds: 31_536_000 }],
  [
    'RetryAfter with a time that has passed',
    new RetryAfter('Sun, 06 Nov 1994 08:49:37 GMT', '429'),
    { delaySeconds: 0 },
  ],
  ["RetryAfter without a header, after the policy's delay", new RetryAfter(null, '429'), { delaySeconds: 60 }],
  ["RetryAfter with an unreadable header, after the policy's delay", new RetryAfter('soon'), { delaySeconds: 60 }],
  ['Snooze', new Snooze('10m'), { kind: 'snoozed', delaySeconds: 600 }],
  ['Skip', new Skip('nothing to do'), { kind: 'skipped' }],
  ['Cancel', new Cancel('no longer wanted'), { kind: 'cancelled' }],
  ['DeadLetter', new DeadLetter('hopeless'), { kind: 'dead_letter' }],
];

it.each(CHOICES)('settles %s, thrown or returned', async (_name, choice, outcome) => {
  const ends = [await attempt(throwing(choice)), await attempt(() => choice)];

  for (const end of ends) {
    expect(end.outcome).toMatchObject({ ...outcome, error: { name: choice.name, message: choice.message } });
  }
});

it("fails with the policy's delay for the attempt", async () => {
  const policy = retry.schedule(['1m', '5m', '30m']);

  const ends = await Promise.all([1, 2, 3, 4].map((number) => attempt(throwing(new Error('x')), { number, policy })));

  expect(ends.map(({ outcome }) => 'delaySeconds' in outcome && outcome.delaySeconds)).toEqual([60, 300, 1800, 1800]);
});

it.each([
  ['an error that the policy does not retry', retry.fixed(1, { deadLetterOn: ['TypeError'] }), new TypeError('x')],
  ['an error that the policy does not list', retry.fixed(1, { retryOn: ['HttpError'] }), new TypeError('x')],
  ['a thrown string under a policy that lists errors only', retry.fixed(1, { retryOn: ['Error'] }), 'text'],
  ['an error code', retry.fixed(1, { deadLetterOn: ['E42'] }), Object.assign(new Error('x'), { code: 'E42' })],
])('makes a dead letter at once: %s', async (_what, policy, thrown) => {
  const end = await attempt(throwing(thrown), { policy });

  expect(end.outcome.kind).toBe('dead_letter');
});

const fetchFailed = new TypeError('fetch failed', {
  cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
});

it.each([
  ['a code that only the cause has', { retryOn: ['ECONNREFUSED'] }, fetchFailed, 'failed'],
  ['a code of a member', { retryOn: ['ECONNREFUSED'] }, new AggregateError([fetchFailed]), 'failed'],
  ['a code that no cause has', { retryOn: ['ETIMEDOUT'] }, fetchFailed, 'dead_letter'],
  [
    'a cause that may not be retried',
    { retryOn: ['TypeError'], deadLetterOn: ['ECONNREFUSED'] },
    fetchFailed,
    'dead_letter',
  ],
])('a filter matches the errors behind the thrown one: %s', async (_what, filters, thrown, kind) => {
  const end = await attempt(throwing(thrown), { policy: retry.fixed(1, filters) });

  expect(end.outcome.kind).toBe(kind);
});

it('fails as timed out when the handler stops at its signal, regardless of its error', async () => {
  const end = await attempt(async ({ signal }) => {
    await systemTime.sleep(60_000, signal);
    throw new Error('aborted while waiting');
  });

  expect(end).toMatchObject({ overstayed: false, outcome: { kind: 'failed', delaySeconds: 60 } });
  expect('error' in end.outcome && end.outcome.error).toMatchObject({
    name: 'TimedOut',
    message: 'timed out after 5 s',
  });
});

it('succeeds when the handler returns within two seconds after its signal', async () => {
  const end = await attempt(async ({ signal }) => {
    await systemTime.sleep(60_000, signal);
    return 'just in time';
  });

  expect(end).toMatchObject({ overstayed: false, outcome: { kind: 'succeeded', result: '"just in time"' } });
});

it('settles the chosen outcome when the handler chooses after its signal', async () => {
  const end = await attempt(async ({ signal }) => {
    await systemTime.sleep(60_000, signal);
    throw new Snooze('1h');
  });

  expect(end).toMatchObject({ overstayed: false, outcome: { kind: 'snoozed', delaySeconds: 3600 } });
});

it('ends two seconds after the signal when the handler does not, and reports that it overstayed', async () => {
  const end = await attempt(never);

  expect(end).toMatchObject({ overstayed: true, outcome: { kind: 'failed', error: { name: 'TimedOut' } } });
  expect(end.durationMs).toBeGreaterThanOrEqual(6_900);
});

it('makes a dead letter of a timeout when the policy lists it', async () => {
  const end = await attempt(never, { policy: retry.fixed(1, { deadLetterOn: ['TimedOut'] }) });

  expect(end.outcome.kind).toBe('dead_letter');
});

it.each([
  ['a revoked proxy', () => Proxy.revocable({}, {})],
  ['a revoked function', () => Proxy.revocable(() => 1, {})],
])('fails when the handler throws or returns %s', async (_what, make) => {
  const thrown = make();
  const returned = make();
  for (const { revoke } of [thrown, returned]) revoke();

  const ends = [await attempt(throwing(thrown.proxy)), await attempt(() => returned.proxy)];

  expect(ends.map(({ outcome }) => outcome.kind)).toEqual(['failed', 'failed']);
});

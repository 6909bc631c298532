import { expect, it } from 'vitest';
import { engineSentence } from '../../../local/screen/engine-lines.ts';
import { parseLogLine } from '../../../local/screen/log-line.ts';

it.each([
  [{ job_type: 'send_otp', jobs: 3 }, '3 jobs of send_otp skipped: not started in time'],
  [{ job_type: 'send_otp', routing_key: 'eu', jobs: 1 }, '1 job of send_otp.eu skipped: not started in time'],
  [{ jobs: 2 }, '2 jobs skipped: not started in time'],
])('jobs that the dispatcher skipped are counted by handler: %j', (fields, expected) => {
  const log = parseLogLine(JSON.stringify({ level: 'warn', event: 'jobs_skipped', ...fields }));

  expect(log && engineSentence(log)).toBe(expected);
});

it('an invalid progress is described with its attempt and its reason', () => {
  const fields = { attempt: '1/5', reason: 'fraction: expected a number from 0 to 1, got 40 (stored as 1)' };
  const log = parseLogLine(JSON.stringify({ level: 'warn', event: 'progress_invalid', ...fields }));

  expect(log && engineSentence(log)).toBe(`invalid progress of attempt 1/5: ${fields.reason}`);
});

import { afterEach, expect, it, vi } from 'vitest';
import { logsJobStarts } from '../../core/config.ts';

afterEach(() => vi.unstubAllEnvs());

it.each([
  ['', true],
  ['on', true],
  ['off', false],
])('MILLRACE_LOG_JOB_STARTS=%s logs the start of attempts: %s', (value, expected) => {
  vi.stubEnv('MILLRACE_LOG_JOB_STARTS', value);

  expect(logsJobStarts()).toBe(expected);
});

it('refuses another value of MILLRACE_LOG_JOB_STARTS', () => {
  vi.stubEnv('MILLRACE_LOG_JOB_STARTS', 'no');

  expect(() => logsJobStarts()).toThrow('MILLRACE_LOG_JOB_STARTS: expected');
});

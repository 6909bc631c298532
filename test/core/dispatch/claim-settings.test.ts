import { afterEach, expect, it, vi } from 'vitest';
import { claimSettings, claimVariables } from '../../../core/dispatch/claim-settings.ts';

afterEach(() => vi.unstubAllEnvs());

it('claims 1,000 jobs at a time and polls every second by default', () => {
  expect(claimSettings()).toEqual({ claimLimit: 1000, pollIntervalMs: 1000 });
});

it.each([
  ['1', '100ms', { claimLimit: 1, pollIntervalMs: 100 }],
  ['10000', '60s', { claimLimit: 10_000, pollIntervalMs: 60_000 }],
  ['50', '2.5', { claimLimit: 50, pollIntervalMs: 2500 }],
])('reads MILLRACE_CLAIM_LIMIT=%s and MILLRACE_POLL_INTERVAL=%s', (limit, interval, expected) => {
  vi.stubEnv('MILLRACE_CLAIM_LIMIT', limit);
  vi.stubEnv('MILLRACE_POLL_INTERVAL', interval);

  expect(claimSettings()).toEqual(expected);
});

it.each([
  ['MILLRACE_CLAIM_LIMIT', '0', 'expected a whole number from 1 to 10000, got "0"'],
  ['MILLRACE_CLAIM_LIMIT', '10001', 'expected a whole number from 1 to 10000'],
  ['MILLRACE_CLAIM_LIMIT', '1e3', 'expected a whole number from 1 to 10000'],
  ['MILLRACE_POLL_INTERVAL', '50ms', 'expected 100ms to 60s, got "0.05s"'],
  ['MILLRACE_POLL_INTERVAL', '2m', 'expected 100ms to 60s, got "120s"'],
  ['MILLRACE_POLL_INTERVAL', 'often', 'expected a duration such as 30s, 5m or 2h'],
])('refuses %s=%s', (name, value, message) => {
  vi.stubEnv(name, value);

  expect(() => claimSettings()).toThrow(`${name}: ${message}`);
});

it('passes on only the variables that set them', () => {
  expect(claimVariables({ MILLRACE_CLAIM_LIMIT: '50', OTHER: '1' })).toEqual({ MILLRACE_CLAIM_LIMIT: '50' });
});

it('refuses a variable of .env that is out of bounds', () => {
  expect(() => claimVariables({ MILLRACE_POLL_INTERVAL: '2m' })).toThrow('MILLRACE_POLL_INTERVAL: expected 100ms');
});

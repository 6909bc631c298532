import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { pastTime } from '../../../cli/options/values.ts';

beforeEach(() => void vi.useFakeTimers({ now: new Date('2026-11-29T03:10:00Z') }));
afterEach(() => void vi.useRealTimers());

it.each([
  ['03:09', '2026-11-29T03:09:00.000Z'],
  ['03:10:00', '2026-11-29T03:10:00.000Z'],
  ['03:11', '2026-11-28T03:11:00.000Z'],
  ['18:20:30Z', '2026-11-28T18:20:30.000Z'],
  ['2026-11-01', '2026-11-01T00:00:00.000Z'],
])('a time in the past is the last one that the clock showed: %s', (text, expected) => {
  expect((pastTime(text) as Date).toISOString()).toBe(expected);
});

it.each(['24:00', '3:09', '03:60', '03:09:60', '03:09+01:00', 'yesterday', ''])('pastTime rejects %j', (text) => {
  expect(() => pastTime(text)).toThrow('or a clock time (UTC) such as 18:10');
});

import { expect, it } from 'vitest';
import { chooseRange } from '../../../core/numbers/series-range.ts';

const now = new Date('2026-03-31T10:20:30Z');
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000);

it.each([
  ['an hour', { since: ago(1) }, '61 of a minute, 03-31T09:20 to 03-31T10:20'],
  ['a day', { since: ago(24) }, '25 of a hour, 03-30T10:00 to 03-31T10:00'],
  ['a day by minute', { since: ago(24), step: 'minute' }, '1441 of a minute, 03-30T10:20 to 03-31T10:20'],
  ['31 days', { since: ago(744) }, '745 of a hour, 02-28T10:00 to 03-31T10:00'],
  ['an hour long ago', { since: ago(48), until: ago(47) }, '2 of a hour, 03-29T10:00 to 03-29T11:00'],
  [
    'whole hours, without the one that begins at the end',
    { since: new Date('2026-03-31T07:00:00Z'), until: new Date('2026-03-31T09:00:00Z'), step: 'hour' },
    '2 of a hour, 03-31T07:00 to 03-31T08:00',
  ],
  ['an end in the future', { since: ago(1), until: ago(-9) }, '61 of a minute, 03-31T09:20 to 03-31T10:20'],
  ['no time at all', { since: now }, '1 of a minute, 03-31T10:20 to 03-31T10:20'],
] as const)('%s', (_case, interval, points) => {
  const range = chooseRange(now, interval);

  if ('fault' in range) throw new Error(range.fault);
  const times = range.times.map((time) => time.toISOString().slice(5, 16));
  expect(`${times.length} of a ${range.step}, ${times[0]} to ${times.at(-1)}`).toBe(points);
});

it.each([
  ['minutes that are deleted', { since: ago(25), step: 'minute' }, 'since', 'use a later time, or the step hour'],
  ['hours that are deleted', { since: ago(800) }, 'since', 'hours are kept for 31 days'],
  ['the future', { since: ago(-1) }, 'since', 'since: 2026-03-31T11:20:30.000Z is in the future'],
  ['a reversed interval', { since: ago(1), until: ago(2) }, 'until', 'is before since'],
] as const)('refuses %s', (_case, interval, parameter, words) => {
  expect(chooseRange(now, interval)).toEqual({ parameter, fault: expect.stringContaining(words) });
});

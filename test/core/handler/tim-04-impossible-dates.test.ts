import { describe, expect, it } from 'vitest';
import { openTimetable, readCron } from '../../../core/handler/cron.ts';

const next = (cron: string, after: string, zone = 'UTC') =>
  new Date(readCron(cron, zone).next(Date.parse(after)) ?? Number.NaN).toISOString();

it.each(['0 0 30 2 *', '0 0 31 4 *', '0 0 31 2,4,6 *', '0 0 30-31 feb *'])(
  'refuses %s, which never matches',
  (cron) => {
    expect(() => readCron(cron, 'Europe/Berlin')).toThrow(
      `cron: expected an expression that matches some date, got "${cron}"`,
    );
  },
);

it.each([
  ['0 9 29 2 *', '2026-11-27T00:00Z', '2028-02-29T09:00:00.000Z'],
  ['0 9 29 2 *', '2096-11-27T00:00Z', '2104-02-29T09:00:00.000Z'],
  // Both days are restricted: either matches, as in crontab.
  ['0 9 29 2 1', '2026-11-27T00:00Z', '2027-02-01T09:00:00.000Z'],
  ['0 0 * * 7', '2026-11-27T00:00Z', '2026-11-29T00:00:00.000Z'],
  ['0 0 * * sat-7', '2026-11-27T00:00Z', '2026-11-28T00:00:00.000Z'],
  ['0 0 31 * *', '2027-01-31T00:00Z', '2027-03-31T00:00:00.000Z'],
  [' 5  4 * JAN mon ', '2026-11-27T00:00Z', '2027-01-04T04:05:00.000Z'],
])('%s after %s is %s', (cron, after, expected) => {
  expect(next(cron, after)).toBe(expected);
});

describe('an expression', () => {
  it.each([
    ['* * * * * *', /^cron: expected five fields \(minute, hour, day of the month, month, day of the week\)/],
    ['@daily', /^cron: expected five fields/],
    ['', /^cron: expected five fields/],
    ['0 0 L * *', /^cron: expected numbers, \*, commas, - and \/ in the day of the month/],
    ['0 0 * * 5#2', /in the day of the week, got "0 0 \* \* 5#2"$/],
    ['0 0 ? * *', /in the day of the month/],
    ['0 0 * mon *', /in the month/],
    ['60 * * * *', /^cron: Invalid value for minute: 60, in "60 \* \* \* \*"$/],
    ['0 24 * * *', /^cron: Invalid value for hour/],
    ['*/0 * * * *', /^cron: Syntax error, illegal stepping: 0/],
    ['5/15 * * * *', /^cron: Syntax error, stepping with numeric prefix/],
    ['10-5 * * * *', /^cron: From value is larger/],
    ['1,,2 * * * *', /^cron: /],
    [`0 0 * * ${'1,'.repeat(200)}1`, /^cron: expected five fields/],
  ])('is refused: %s', (cron, message) => {
    expect(() => readCron(cron, 'UTC')).toThrow(message);
  });

  it.each(['Mars/Olympus', '+02:00', '', 'Europe', 'EST5EDT4'])('is refused in the zone %s', (zone) => {
    expect(() => readCron('* * * * *', zone)).toThrow(
      /^zone: expected an IANA time zone such as 'Europe\/Berlin', got/,
    );
  });
});

it('an interval has its ticks at its multiples since 1970, in any zone', () => {
  const timetable = openTimetable({ cron: null, everySeconds: 900, zone: 'UTC' });

  const ticks = ['2027-01-01T00:00:00Z', '2027-01-01T00:00:01Z', '2027-01-01T00:14:59.999Z'].map((after) =>
    new Date(timetable.next(Date.parse(after)) ?? 0).toISOString(),
  );

  expect(ticks).toEqual(Array(3).fill('2027-01-01T00:15:00.000Z'));
});

import { describe, expect, it } from 'vitest';
import { readCron } from '../../../core/handler/cron.ts';

/** Returns the ticks after a time, as ISO text without seconds. */
function ticksAfter(cron: string, zone: string, after: string, count: number): string[] {
  const timetable = readCron(cron, zone);
  const ticks: string[] = [];
  for (let last = Date.parse(after); ticks.length < count; ) {
    last = timetable.next(last) ?? Number.NaN;
    ticks.push(new Date(last).toISOString().slice(0, 16));
  }
  return ticks;
}

describe('an expression that names its hours', () => {
  it.each([
    ['America/New_York', '30 2 * * *', '2027-03-13T12:00Z', ['2027-03-14T07:00', '2027-03-15T06:30']],
    ['Europe/Berlin', '30 2 * * *', '2027-03-27T12:00Z', ['2027-03-28T01:00', '2027-03-29T00:30']],
    ['Australia/Lord_Howe', '15 2 * * *', '2027-10-02T12:00Z', ['2027-10-02T15:30', '2027-10-03T15:15']],
    ['Australia/Sydney', '30 2 * * *', '2027-10-02T12:00Z', ['2027-10-02T16:00', '2027-10-03T15:30']],
    ['America/Santiago', '0 0 * * *', '2027-09-04T12:00Z', ['2027-09-05T04:00', '2027-09-06T03:00']],
    ['America/New_York', '0-45/15 2 * * *', '2027-03-13T12:00Z', ['2027-03-14T07:00', '2027-03-15T06:00']],
    ['Pacific/Apia', '0 12 30 12 *', '2011-01-01T00:00Z', ['2011-12-30T10:00', '2012-12-29T22:00']],
  ])('in %s, %s runs at the end of the hour that is skipped', (zone, cron, after, expected) => {
    expect(ticksAfter(cron, zone, after, expected.length)).toEqual(expected);
  });

  it.each([
    ['America/New_York', '30 1 * * *', '2027-11-06T12:00Z', ['2027-11-07T05:30', '2027-11-08T06:30']],
    ['Europe/Berlin', '30 2 * * *', '2027-10-30T12:00Z', ['2027-10-31T00:30', '2027-11-01T01:30']],
    ['Europe/Berlin', '30 2 * * *', '2027-10-31T00:45Z', ['2027-11-01T01:30']],
    ['Europe/Berlin', '* 2 * * *', '2027-10-31T00:58Z', ['2027-10-31T00:59', '2027-11-01T01:00']],
    ['Australia/Lord_Howe', '45 1 * * *', '2027-04-03T12:00Z', ['2027-04-03T14:45', '2027-04-04T15:15']],
    ['Australia/Sydney', '30 2 * * *', '2027-04-03T12:00Z', ['2027-04-03T15:30', '2027-04-04T16:30']],
    ['America/Santiago', '30 23 * * *', '2027-04-03T12:00Z', ['2027-04-04T02:30', '2027-04-05T03:30']],
  ])('in %s, %s runs only the first time in the hour that repeats', (zone, cron, after, expected) => {
    expect(ticksAfter(cron, zone, after, expected.length)).toEqual(expected);
  });

  it('runs once a day for a year, in each zone', () => {
    for (const zone of [
      'America/New_York',
      'Europe/Berlin',
      'Australia/Lord_Howe',
      'Africa/Casablanca',
      'Asia/Tehran',
    ]) {
      for (const hour of [0, 2]) {
        const ticks = ticksAfter(`30 ${hour} * * *`, zone, '2027-01-01T12:00Z', 366);
        const days = ticks.map((tick) =>
          new Date(`${tick}Z`).toLocaleDateString('en-CA', { timeZone: zone, dateStyle: 'short' }),
        );

        expect(new Set(days).size).toBe(366);
      }
    }
  });
});

describe('an expression whose hour field begins with *', () => {
  it('keeps its intervals when an hour is skipped', () => {
    const ticks = ticksAfter('*/30 * * * *', 'Europe/Berlin', '2027-03-28T00:15Z', 3);

    expect(ticks).toEqual(['2027-03-28T00:30', '2027-03-28T01:00', '2027-03-28T01:30']);
  });

  it('keeps its intervals when an hour repeats', () => {
    const ticks = ticksAfter('30 * * * *', 'America/New_York', '2027-11-07T05:00Z', 3);

    expect(ticks).toEqual(['2027-11-07T05:30', '2027-11-07T06:30', '2027-11-07T07:30']);
  });

  it('runs at the times that the wall shows when half an hour repeats', () => {
    const ticks = ticksAfter('15,45 * * * *', 'Australia/Lord_Howe', '2027-04-03T14:00Z', 4);

    expect(ticks).toEqual(['2027-04-03T14:15', '2027-04-03T14:45', '2027-04-03T15:15', '2027-04-03T15:45']);
  });

  it('has as many ticks in a year as the year has hours, in each zone', () => {
    for (const zone of ['Africa/Casablanca', 'America/Santiago']) {
      const ticks = ticksAfter('0 * * * *', zone, '2026-12-31T23:59Z', 365 * 24);

      expect(ticks.at(-1)).toBe('2027-12-31T23:00');
    }
  });
});

it('a zone without daylight saving has the same time every day', () => {
  expect(ticksAfter('0 9 * * *', 'Asia/Kathmandu', '2027-03-27T00:00Z', 2)).toEqual([
    '2027-03-27T03:15',
    '2027-03-28T03:15',
  ]);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RetryAfter } from '../../../core/handler/chosen-outcome.ts';
import { type RetryTime, retryAfterSeconds } from '../../../core/handler/retry-after.ts';

const NOW = Date.UTC(2026, 10, 28, 17, 0, 0);
const YEAR = 365 * 86_400;
const read = (time: unknown) => retryAfterSeconds(time as RetryTime, NOW);

describe('a time to wait', () => {
  it.each<[unknown, number]>([
    [120, 120],
    [0, 0],
    [1.5, 1.5],
    [-5, 0],
    [Number.POSITIVE_INFINITY, YEAR],
    ['120', 120],
    [' 5 ', 5],
    ['5\r\n', 5],
    ['0', 0],
    ['1.5', 1.5],
    ['-5', 0],
    ['+5', 5],
    ['9'.repeat(20), YEAR],
    ['90s', 90],
    ['500ms', 0.5],
    ['2h', 7_200],
    ['9999d', YEAR],
    [`${'9'.repeat(400)}s`, YEAR],
    ['Sat, 28 Nov 2026 17:25:00 GMT', 1_500],
    [' Sat, 28 Nov 2026 17:25:00 GMT ', 1_500],
    ['Saturday, 28-Nov-26 17:25:00 GMT', 1_500],
    ['Sat Nov 28 17:25:00 2026', 1_500],
    ['Tue Dec  1 17:00:00 2026', 3 * 86_400],
    ['Sat, 28 Nov 2026 17:00:60 GMT', 60],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sun Nov  6 08:49:37 1994', 0],
    ['Thu, 31 Dec 2099 00:00:00 GMT', YEAR],
    ['Friday, 31-Dec-76 00:00:00 GMT', YEAR],
    ['Friday, 31-Dec-77 00:00:00 GMT', 0],
    [new Date(NOW + 90_000), 90],
    [new Date(NOW - 90_000), 0],
    [new Date(NOW + 1e15), YEAR],
  ])('%j is %d seconds', (time, seconds) => {
    expect(read(time)).toBe(seconds);
  });

  it.each([
    ...['soon', '', ' ', '1h30m', '1 hour', '5,5', '0x10', '1e3', '٣', 'null', '120, 120', '2026-11-28T17:25:00Z'],
    ...['Sat, 28 Nov 2026 17:25:00', 'Sat, 28 Nov 2026 17:25:00 CET', 'Sat, 28 Foo 2026 17:25:00 GMT'],
    ...['Sat, 31 Feb 2026 17:25:00 GMT', 'Sat, 28 Nov 2026 24:00:00 GMT', 'Sat, 28 Nov 2026 17:60:00 GMT'],
    ...[null, undefined, Number.NaN, new Date(Number.NaN), {}, [], ['5'], true, 5n, Symbol('5'), () => 5],
  ])('%s states no time', (time) => {
    expect(read(time)).toBeUndefined();
  });

  it('reads every HTTP date in its three forms', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date(NOW), max: new Date(NOW + 364 * 86_400_000), noInvalidDate: true }),
        (date) => {
          const [weekday = '', day = '', month = '', year = '', clock = ''] = date.toUTCString().split(/,? /);
          const long = date.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
          const expected = (Math.floor(date.getTime() / 1000) * 1000 - NOW) / 1000;

          expect(read(date.toUTCString())).toBe(expected);
          expect(read(`${long}, ${day}-${month}-${year.slice(2)} ${clock} GMT`)).toBe(expected);
          expect(read(`${weekday} ${month} ${String(Number(day)).padStart(2)} ${clock} ${year}`)).toBe(expected);
        },
      ),
    );
  });

  it('is between 0 and a year, or none, for any value', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string(), fc.double(), fc.date({ noInvalidDate: false })), (time) => {
        const seconds = read(time) ?? 0;

        expect(seconds >= 0 && seconds <= YEAR).toBe(true);
      }),
    );
  });
});

describe('RetryAfter', () => {
  it('does not hide the error, whatever its delay', () => {
    for (const delay of ['soon', '', null, undefined, Number.NaN, '-1', {} as string, Symbol('x') as never]) {
      expect(new RetryAfter(delay, 'the partner returned 429').message).toBe('the partner returned 429');
    }
  });

  it('keeps the message and the stack of an error that is its reason', () => {
    const reason = new TypeError('the partner returned 429');

    expect(new RetryAfter('5s', reason)).toMatchObject({ message: 'the partner returned 429', cause: reason });
  });

  it('states its delay without a reason', () => {
    expect(new RetryAfter('90s').message).toBe('retry after 90 s');
    expect(new RetryAfter('soon').message).toBe("retry after the policy's delay");
  });
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { roughly, seconds } from '../../core/duration.ts';

it.each([
  ['500ms', 0.5],
  ['30s', 30],
  ['1.5m', 90],
  ['2h', 7_200],
  ['7d', 604_800],
  [' 5s ', 5],
  ['0s', 0],
  [0.25, 0.25],
  [0, 0],
])('reads %j as %d seconds', (duration, expected) => {
  expect(seconds(duration, 'timeout')).toBe(expected);
});

it.each([
  '',
  's',
  '30',
  '30 s',
  '30sec',
  '-1s',
  '+1s',
  '1e3s',
  '.5s',
  '1.s',
  '1h30m',
  '30S',
  '٣s',
  `${'9'.repeat(400)}s`,
])('refuses the text %j', (duration) => {
  expect(() => seconds(duration, 'batch.window')).toThrow(/^batch\.window: expected a duration such as 30s, 5m or 2h/);
});

it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, -0.001])('refuses the number %d', (duration) => {
  expect(() => seconds(duration, 'timeout')).toThrow(
    expect.objectContaining({ code: 'MILLRACE_SETTING', field: 'timeout' }),
  );
});

it('refuses a value that is neither text nor number', () => {
  for (const duration of [undefined, null, true, {}, [], 10n] as unknown as number[]) {
    expect(() => seconds(duration, 'timeout')).toThrow(expect.objectContaining({ field: 'timeout' }));
  }
});

it('reads every amount in every unit', () => {
  const units = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 };
  const unit = fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[]));

  fc.assert(
    fc.property(fc.nat(1_000_000), unit, (amount, name) => {
      expect(seconds(`${amount}${name}`, 'delay')).toBe(amount * units[name]);
    }),
  );
});

it('returns a finite number that is not negative, or throws a SettingError, for any text', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.double(), fc.stringMatching(/^\d{1,4}(\.\d)?[a-z]{0,2}$/)), (duration) => {
      let value: number;
      try {
        value = seconds(duration, 'delay');
      } catch (error) {
        expect(error).toMatchObject({ code: 'MILLRACE_SETTING', field: 'delay' });
        return;
      }
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThan(Number.POSITIVE_INFINITY);
    }),
  );
});

it.each([
  [0.123_456, '0.123 s'],
  [59.96, '60 s'],
  [999, '999 s'],
  [1234.6, '1235 s'],
  [31_536_000, '31536000 s'],
])('prints %s seconds as %s', (given, printed) => {
  expect(roughly(given)).toBe(printed);
});

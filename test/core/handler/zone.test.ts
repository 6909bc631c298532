import { expect, it } from 'vitest';
import { openZone } from '../../../core/handler/zone.ts';

const NOON = Date.parse('2027-07-01T12:00:00Z');

it.each([
  ['another case', 'europe/BERLIN', 'Europe/Berlin'],
  ['another name', 'US/Eastern', 'America/New_York'],
  ['another case of another name', 'uS/eAsTeRn', 'America/New_York'],
])('opens a zone under %s', (_what, name, canonical) => {
  expect(openZone(name).offsetAt(NOON)).toBe(openZone(canonical).offsetAt(NOON));
});

it.each(['Mars/Olympus', '', '+02:00', 'Europe/Berlin ', 'UTC\0', '😀', 'Asia/\u212aolkata', 'a'.repeat(1_000_000)])(
  'refuses an unknown zone: %.20j',
  (name) => {
    expect(() => openZone(name)).toThrow('zone: expected an IANA time zone');
  },
);

it('opens every zone that Node lists, however many others were opened', () => {
  const names = Intl.supportedValuesOf('timeZone');
  const offsets = () => names.map((name) => openZone(name).offsetAt(NOON));

  expect(offsets()).toEqual(offsets());
  expect(openZone('Asia/Kolkata').offsetAt(NOON)).toBe(5.5 * 3_600_000);
});

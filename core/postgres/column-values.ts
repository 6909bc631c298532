import { nearestTime } from '../time.ts';

type Parse = (text: string) => unknown;

const TIME = /^(\d{4,})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?( BC)?$/;
const ELEMENT = /"((?:[^"\\]|\\.)*)"|([^,]+)/g;

const asIs: Parse = (text) => text;
const truth: Parse = (text) => text === 't';
const json: Parse = (text) => JSON.parse(text);

/** The parser of each type, by the type's oid. `bigint` and `numeric` stay text, so that no digit is lost. */
const PARSERS = new Map<number, Parse>([
  [16, truth],
  ...[21, 23, 26, 700, 701].map((oid): [number, Parse] => [oid, Number]),
  ...[114, 3802].map((oid): [number, Parse] => [oid, json]),
  [1184, toTime],
  [1000, arrayOf(truth)],
  ...[1005, 1007, 1021, 1022].map((oid): [number, Parse] => [oid, arrayOf(Number)]),
  ...[1009, 1015, 1016].map((oid): [number, Parse] => [oid, arrayOf(asIs)]),
  ...[199, 3807].map((oid): [number, Parse] => [oid, arrayOf(json)]),
]);

/**
 * Reads the columns of every result, instead of pg's own table of parsers, which a handler can change for the whole
 * process.
 */
export const COLUMN_VALUES = { getTypeParser: (oid: number) => PARSERS.get(oid) ?? asIs } as never;

/** Returns every column as the text that Postgres sent. */
export const COLUMN_TEXTS = { getTypeParser: () => asIs } as never;

/**
 * Reads a `timestamptz` in ISO style, truncated to milliseconds. Returns the nearest time in the years 1 to 9999, so
 * that one row with another time does not make a list fail.
 */
function toTime(text: string): Date {
  const found = TIME.exec(text);
  if (found === null && !text.endsWith('infinity')) throw new Error(`expected a time in ISO style, got ${text}`);
  return nearestTime(text, found && timeOf(found));
}

function timeOf([, years, months, days, hours, minutes, seconds, fraction = '', sign, ...rest]: RegExpExecArray): Date {
  const [offsetHours = 0, offsetMinutes = 0, offsetSeconds = 0] = rest.slice(0, 3).map((part) => Number(part ?? 0));
  const offset = (offsetHours * 3600 + offsetMinutes * 60 + offsetSeconds) * (sign === '-' ? -1 : 1);
  const time = new Date(0);
  time.setUTCFullYear(rest[3] ? 1 - Number(years) : Number(years), Number(months) - 1, Number(days));
  time.setUTCHours(
    Number(hours),
    Number(minutes),
    Number(seconds) - offset,
    Number(fraction.padEnd(3, '0').slice(0, 3)),
  );
  return time;
}

/** Returns a parser for one-dimensional arrays. */
function arrayOf(parse: Parse): Parse {
  return (text) =>
    [...text.slice(1, -1).matchAll(ELEMENT)].map(([, quoted, bare = '']) => {
      if (quoted !== undefined) return parse(quoted.replaceAll(/\\(.)/gs, '$1'));
      return bare === 'NULL' ? null : parse(bare);
    });
}

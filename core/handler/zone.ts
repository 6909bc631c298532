import { SettingError } from '../errors.ts';

/** A time zone, between instants and the times that a clock on its wall shows. All are milliseconds since 1970. */
export interface Zone {
  /** Milliseconds that the wall is ahead of UTC. */
  offsetAt(instant: number): number;
  /** Returns the first instant at which the wall shows this time, or the end of the gap that skips it. */
  instantOf(wall: number): number;
  /** Returns the first instant after `from`, up to `to`, at which the offset changes. */
  changeBetween(from: number, to: number): number | undefined;
}

/** No zone changes its offset by more, or twice within this time. */
const DAY_MS = 86_400_000;
/** Distance of two looks at the offset: shorter than two changes that undo each other, such as Ramadan in Morocco. */
const STEP_MS = 7 * DAY_MS;

/** Characters of a zone's name; the table of schedules has the same limit. */
const LONGEST_NAME = 100;

/** A name of a zone in any case: one zone has millions of spellings. */
const NAME = /^[a-z][a-z0-9_+/-]*$/i;

// Callers choose the zones, so both maps have only keys that Node knows: about 450 names, and 600 with aliases.
/** Formats by Node's names of their zones. Each takes about 0.1 MB. */
const formats = new Map<string, Intl.DateTimeFormat>();
/** Node's names by all names in lower case: `Asia/Calcutta` by `asia/kolkata`. */
const names = new Map<string, string>();

/**
 * Returns a zone of the IANA database, such as `Europe/Berlin`, of which Node contains a copy.
 * @throws SettingError when Node does not know it.
 */
export function openZone(name: string): Zone {
  const known = nameOf(name);
  if (known === undefined) throw new SettingError('zone', "an IANA time zone such as 'Europe/Berlin'", name);
  const offsetAt = (instant: number) => wallAt(formatOf(known), instant) - Math.floor(instant / 1000) * 1000;
  return {
    offsetAt,
    instantOf: (wall) => instantOf(offsetAt, wall),
    changeBetween: (from, to) => changeBetween(offsetAt, from, to),
  };
}

/** Returns Node's name of a zone; undefined for an unknown zone. */
function nameOf(name: string): string | undefined {
  // Node also accepts offsets such as +02:00, which have no rules for daylight saving.
  if (typeof name !== 'string' || name.length > LONGEST_NAME || !NAME.test(name)) return undefined;
  const key = name.toLowerCase();
  try {
    const known = names.get(key) ?? formatOf(key).resolvedOptions().timeZone;
    names.set(key, known);
    return known;
  } catch {
    return undefined;
  }
}

/** @throws RangeError when Node does not know the zone. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const clock = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat('en-u-ca-iso8601', { timeZone, ...numeric, ...clock });
  formats.set(format.resolvedOptions().timeZone, format);
  return format;
}

function wallAt(format: Intl.DateTimeFormat, instant: number): number {
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const day = [part('year'), part('month') - 1, part('day')] as const;
  return Date.UTC(...day, part('hour'), part('minute'), part('second'));
}

function instantOf(offsetAt: Zone['offsetAt'], wall: number): number {
  const [before, after] = [offsetAt(wall - DAY_MS), offsetAt(wall + DAY_MS)];
  // The larger offset gives the earlier instant.
  const candidates = [wall - Math.max(before, after), wall - Math.min(before, after)];
  const shown = candidates.find((instant) => instant + offsetAt(instant) === wall);
  return shown ?? changeBetween(offsetAt, wall - before - DAY_MS, wall - before + DAY_MS) ?? wall - before;
}

function changeBetween(offsetAt: Zone['offsetAt'], from: number, to: number): number | undefined {
  for (let low = from; low < to; low += STEP_MS) {
    const high = Math.min(low + STEP_MS, to);
    if (offsetAt(high) !== offsetAt(low)) return changeIn(offsetAt, low, high);
  }
  return undefined;
}

/** Halves the interval to the second. */
function changeIn(offsetAt: Zone['offsetAt'], from: number, to: number): number {
  const offset = offsetAt(from);
  let [low, high] = [Math.floor(from / 1000), Math.ceil(to / 1000)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * 1000) === offset) low = middle;
    else high = middle;
  }
  return high * 1000;
}

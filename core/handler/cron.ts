import { Cron } from 'croner';
import { SettingError } from '../errors.ts';
import { openZone, type Zone } from './zone.ts';

/** A cron expression in its zone. */
export interface Timetable {
  /** Returns the first tick after a time; undefined if no further one exists. Both are milliseconds since 1970. */
  next(after: number): number | undefined;
}

const FIELDS = ['minute', 'hour', 'day of the month', 'month', 'day of the week'];
const MONTHS = /\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b/gi;
const DAYS = /\b(?:sun|mon|tue|wed|thu|fri|sat)\b/gi;
const LONGEST_CRON = 200;
/** Changes of the zone's offset that one search passes: more than eight years have, the distance of leap days. */
const MOST_CHANGES = 200;
/** Ticks of one day that a change of the offset can put at the same or an earlier time. */
const MOST_SKIPPED = 1440;

/**
 * Reads a cron expression of five fields. croner finds the next date on the clock of a wall; this file decides what
 * that means in a zone, because a schedule must not depend on the rule of a library:
 * - An expression that names its hours runs once for each time of the wall: at the end of a gap if the gap skips it,
 *   and only the first time if the hour repeats.
 * - An expression whose hour field begins with `*` runs whenever the wall shows its time: in both repeated hours, and
 *   not in a gap.
 * @throws SettingError that names the field when the expression or the zone is invalid, or no date ever matches.
 */
export function readCron(cron: string, zone: string): Timetable {
  const fields = checkFields(cron);
  const place = openZone(zone);
  const expression = fields.join(' ');
  const nextWall = (after: number) => parse(expression).nextRun(new Date(after))?.getTime();
  if (nextWall(0) === undefined) throw new SettingError('cron', 'an expression that matches some date', cron);
  const everyHour = fields[1]?.startsWith('*') ?? false;
  return { next: (after) => (everyHour ? nextShown(nextWall, place, after) : nextNamed(nextWall, place, after)) };
}

type NextWall = (after: number) => number | undefined;

/** Rejects what only croner knows, such as `L` and `#`, and names the field, which its errors do not always do. */
function checkFields(cron: string): string[] {
  const fields = typeof cron === 'string' && cron.length <= LONGEST_CRON ? cron.trim().split(/\s+/) : [];
  if (fields.length !== FIELDS.length) {
    throw new SettingError('cron', `five fields (${FIELDS.join(', ')}), such as '0 3 * * *'`, cron);
  }
  for (const [index, field] of fields.entries()) {
    const numbers = index === 3 ? field.replace(MONTHS, '1') : index === 4 ? field.replace(DAYS, '1') : field;
    if (/^[\d*,/-]+$/.test(numbers)) continue;
    throw new SettingError('cron', `numbers, *, commas, - and / in the ${FIELDS[index]}`, cron);
  }
  return fields;
}

/** The expressions that were parsed last. Callers choose them, and croner takes 80 kB for each. */
const parsed = new Map<string, Cron>();
const MOST_PARSED = 100;

function parse(cron: string): Cron {
  const known = parsed.get(cron) ?? cronOrFault(cron);
  if (!(known instanceof Cron)) {
    throw new SettingError('cron', '', '', `cron: ${known.fault}, in ${JSON.stringify(cron)}`);
  }
  const [oldest] = parsed.keys();
  if (parsed.size === MOST_PARSED && oldest !== undefined && !parsed.has(cron)) parsed.delete(oldest);
  parsed.set(cron, known);
  return known;
}

function cronOrFault(cron: string): Cron | { fault: string } {
  try {
    return new Cron(cron, { mode: '5-part', utcOffset: 0 });
  } catch (error) {
    return { fault: error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error) };
  }
}

/** Walks the times of the wall, each of which has one instant. */
function nextNamed(nextWall: NextWall, zone: Zone, after: number): number | undefined {
  let wall: number | undefined = after + zone.offsetAt(after);
  for (let steps = 0; steps < MOST_SKIPPED; steps++) {
    wall = nextWall(wall);
    if (wall === undefined) return undefined;
    const instant = zone.instantOf(wall);
    if (instant > after) return instant;
  }
  return undefined;
}

/** Walks the instants, from one change of the offset to the next. */
function nextShown(nextWall: NextWall, zone: Zone, after: number): number | undefined {
  let since = after;
  let wall = nextWall(after + zone.offsetAt(after));
  for (let changes = 0; changes < MOST_CHANGES && wall !== undefined; changes++) {
    const offset = zone.offsetAt(since);
    const change = zone.changeBetween(since, wall - offset);
    if (change === undefined) return wall - offset;
    since = change;
    // A second earlier, so that the search includes the moment of the change.
    wall = nextWall(change + zone.offsetAt(change) - 1000);
  }
  return undefined;
}

/** When a schedule has ticks: an expression in a zone, or an interval. */
export interface Times {
  readonly cron: string | null;
  readonly everySeconds: number | null;
  readonly zone: string;
}

/**
 * Returns the ticks of a schedule.
 * @throws SettingError when the expression or the zone is invalid.
 */
export function openTimetable({ cron, everySeconds, zone }: Times): Timetable {
  if (cron !== null) return readCron(cron, zone);
  const interval = (everySeconds ?? 0) * 1000;
  if (!(interval > 0)) throw new SettingError('every', 'an interval', everySeconds);
  // Multiples of the interval, so that neither a deployment nor an outage shifts them.
  return { next: (after) => (Math.floor(after / interval) + 1) * interval };
}

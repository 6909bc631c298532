import type { Timetable } from '../handler/cron.ts';
import type { CatchUp } from '../handler/schedule.ts';
import { DISPATCHER_SILENT_SECONDS } from '../handler/timing.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * How far back a search for the last ticks looks, step by step. A step has at most thirteen times as many ticks as
 * the one before, which had too few, so no outage makes the search long.
 */
const WINDOWS_MS = [HOUR_MS, 12 * HOUR_MS, 7 * DAY_MS, 90 * DAY_MS, 3 * 365 * DAY_MS, Number.POSITIVE_INFINITY];

/** Times in milliseconds since 1970. */
export interface Span {
  /** The last time whose ticks were made. */
  readonly after: number;
  readonly now: number;
}

/** Returns the ticks after `after`, up to `now`, that a schedule makes by its catch-up, oldest first. */
export function dueTicks(timetable: Timetable, catchUp: CatchUp, { after, now }: Span): number[] {
  const most = catchUp === 'none' || catchUp === 'latest' ? 1 : Number(/\d+/.exec(catchUp)?.[0] ?? 1);
  const ticks = lastTicks(timetable, { after, now }, most);
  if (catchUp !== 'none') return ticks;
  return ticks.filter((tick) => now - tick <= DISPATCHER_SILENT_SECONDS * 1000);
}

function lastTicks(timetable: Timetable, { after, now }: Span, most: number): number[] {
  for (const window of WINDOWS_MS) {
    const start = Math.max(after, now - window);
    const ticks: number[] = [];
    let tick = timetable.next(start);
    while (tick !== undefined && tick <= now) {
      ticks.push(tick);
      tick = timetable.next(tick);
    }
    if (ticks.length >= most || start === after) return ticks.slice(-most);
  }
  return [];
}

/** The length of the points of a series. */
export const STEPS = ['minute', 'hour'] as const;
export type SeriesStep = (typeof STEPS)[number];

const SECONDS = { minute: 60, hour: 3600 } as const satisfies Record<SeriesStep, number>;
const DAY = 86_400;
/** How long the upkeep keeps the points: for two hours longer, because a request takes time. */
const KEPT_DAYS = { minute: 1, hour: 31 } as const satisfies Record<SeriesStep, number>;
const SLACK_SECONDS = 600;
/** The longest interval that has minutes by default: 360 points. */
const LONGEST_BY_MINUTE = 6 * 3600;

/** A parameter that the caller must change. */
export interface SeriesFault {
  readonly parameter: 'since' | 'until' | 'step' | 'job_type';
  /** A sentence that begins with the parameter. */
  readonly fault: string;
}

export interface SeriesRange {
  readonly step: SeriesStep;
  /** The start of each point, oldest first. The last point is not complete if the interval ends now. */
  readonly times: readonly Date[];
}

interface Interval {
  readonly since: Date;
  /** Default: now. */
  readonly until?: Date | undefined;
  /** Default: minutes for up to six hours of the last day, otherwise hours. */
  readonly step?: SeriesStep | undefined;
}

/**
 * Returns the points of an interval: those that begin before its end, from the one in which it begins.
 * @param now the time of the database's clock.
 */
export function chooseRange(now: Date, { since, until = now, step }: Interval): SeriesRange | SeriesFault {
  const end = until > now ? now : until;
  const age = (now.getTime() - since.getTime()) / 1000;
  const length = (end.getTime() - since.getTime()) / 1000;
  if (age < 0) return { parameter: 'since', fault: `since: ${since.toISOString()} is in the future` };
  if (length < 0) {
    const fault = `until: ${until.toISOString()} is before since, ${since.toISOString()}: no time is between them`;
    return { parameter: 'until', fault };
  }
  const isKept = (of: SeriesStep) => age <= KEPT_DAYS[of] * DAY + SLACK_SECONDS;
  const chosen = step ?? (length <= LONGEST_BY_MINUTE && isKept('minute') ? 'minute' : 'hour');
  if (!isKept(chosen)) return { parameter: 'since', fault: tooEarly(since, chosen) };
  const stepMs = SECONDS[chosen] * 1000;
  const first = Math.floor(since.getTime() / stepMs);
  // An interval without length has the point in which it is.
  const count = Math.max(1, Math.ceil(end.getTime() / stepMs) - first);
  return { step: chosen, times: Array.from({ length: count }, (_, n) => new Date((first + n) * stepMs)) };
}

function tooEarly(since: Date, step: SeriesStep): string {
  const kept = step === 'minute' ? 'minutes are kept for 24 hours' : `hours are kept for ${KEPT_DAYS.hour} days`;
  const instead = step === 'minute' ? 'a later time, or the step hour' : 'a later time';
  return `since: ${kept}, and ${since.toISOString()} is earlier: use ${instead}`;
}

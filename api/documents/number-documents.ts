import * as z from 'zod';
import { SERIES_COUNTS, SERIES_TIMES } from '../../core/numbers/series.ts';
import { STEPS } from '../../core/numbers/series-range.ts';

const COUNTS = 'Numbers of events, as in millrace_job_events_total.';
const TIMES =
  'Percentiles in seconds: wait is from the due time to the start, run from the start of an attempt to its outcome. ' +
  'Null without attempts.';

/** Returns members with these names that have one schema. */
function members<Name extends string, Schema extends z.ZodType>(names: readonly Name[], schema: Schema) {
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>;
}

export const SeriesDocument = z
  .object({
    as_of: z.iso.datetime(),
    step: z.enum(STEPS),
    times: z
      .array(z.iso.datetime())
      .meta({ description: 'Start of each point, oldest first. The current minute or hour is not complete.' }),
    series: z.array(
      z.object({
        job_type: z.string().meta({
          description: 'A job type, _all for all job types, or _other for those that never had a handler.',
        }),
        totals: z
          .object({ ...members(SERIES_COUNTS, z.number().int()), ...members(SERIES_TIMES, z.number().nullable()) })
          .meta({ description: `The whole interval. ${COUNTS} ${TIMES}` }),
        points: z
          .object({
            ...members(SERIES_COUNTS, z.array(z.number().int())),
            ...members(SERIES_TIMES, z.array(z.number().nullable())),
          })
          .meta({ description: 'The same for each time in `times`.' }),
      }),
    ),
  })
  .meta({ id: 'Series', description: 'Numbers over time.' });

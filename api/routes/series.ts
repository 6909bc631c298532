import * as z from 'zod';
import { snakeCase } from '../../core/json.ts';
import { MOST_POINTS, readSeries } from '../../core/numbers/series.ts';
import { STEPS } from '../../core/numbers/series-range.ts';
import { SeriesDocument } from '../documents/number-documents.ts';
import { faultAt, Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import { JobTypeName, Time } from '../schemas.ts';

export const getSeries = defineRoute({
  method: 'get',
  path: '/admin/jobs/series',
  operation: 'getSeries',
  tag: 'Jobs',
  summary: 'Show numbers over time: events, wait times and durations',
  scope: ['jobs:read'],
  query: z.strictObject({
    since: Time.optional().meta({
      description: 'Default: an hour ago. Minutes are kept for 24 hours, hours for 31 days.',
    }),
    until: Time.optional().meta({ description: 'Default: now.' }),
    step: z.enum(STEPS).optional().meta({
      description: 'Default: minute for up to six hours within the last 24 hours, otherwise hour.',
    }),
    job_type: z
      .array(JobTypeName)
      .max(100)
      .optional()
      .meta({ description: 'One series for each of these. Default: the series of all job types, _all.' }),
    by_job_type: z
      .boolean()
      .optional()
      .meta({
        description:
          'Whether to add a series for each job type that has a handler or events. A response has at most ' +
          `${MOST_POINTS} points.`,
      }),
  }),
  answers: { 200: { description: 'The series.', schema: SeriesDocument } },
  run: async ({ query, db }) => {
    const { since, until, step, job_type: jobTypes, by_job_type: byJobType } = query;
    const time = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
    const read = await readSeries(db, { since: time(since), until: time(until), step, jobTypes, byJobType });
    if ('fault' in read) {
      const errors = [faultAt('query', `/${read.parameter}`, read.fault)];
      throw new Problem('validation-failed', read.fault, { errors });
    }
    const { asOf, times, series } = read;
    return { status: 200, body: { as_of: asOf, step: read.step, times, series: series.map(snakeCase) } };
  },
});

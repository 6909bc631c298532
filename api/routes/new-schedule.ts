import * as z from 'zod';
import { handlerName } from '../../core/handler/naming.ts';
import { type PayloadSchema, parsePayload } from '../../core/handler/payload.ts';
import {
  CATCH_UP,
  type CatchUp,
  EXAMPLE_TICK,
  readScheduleText,
  type ScheduleSpec,
  tickPayload,
} from '../../core/handler/schedule.ts';
import { snakeCase } from '../../core/json.ts';
import { createSchedule } from '../../core/schedules/change-schedule.ts';
import { findSchedule } from '../../core/schedules/list-schedules.ts';
import { ChangedSchedule, Schedule } from '../documents/schedule-documents.ts';
import type { JsonBody } from '../json-body.ts';
import { invalid, Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import { DurationText, JobTypeName, RoutingKeyName, Words, wholeNumber } from '../schemas.ts';
import { readKnownHandlers } from './known-handlers.ts';
import { type CheckedJob, checkNewJob, refusal } from './new-job.ts';
import { existing, Name, TAG } from './schedules.ts';

const Interval = z.union([z.number().min(0), DurationText], 'expected seconds, or 30s, 5m, 2h, 1d');
const ScheduleBody = z
  .strictObject({
    schedule: Name,
    job_type: JobTypeName,
    routing_key: RoutingKeyName.optional(),
    payload: z.unknown().optional().meta({ description: "Any JSON that the handler's schema accepts. Default {}." }),
    cron: z.string().max(200).optional().meta({ description: 'Five fields, such as 0 3 * * *; either cron or every.' }),
    every: Interval.optional().meta({ description: 'An interval of 10 seconds to 365 days.' }),
    zone: z.string().max(100).optional().meta({ description: 'The IANA time zone of cron. Default UTC.' }),
    tick_key: Words.optional().meta({ description: 'The member of the payload that gets the time of the tick.' }),
    catch_up: z.string().regex(CATCH_UP, 'expected none, latest, or all(1) to all(100)').optional(),
    overlap: Schedule.shape.overlap.optional(),
    spread: Interval.optional().meta({ description: 'The window after a tick in which its job runs.' }),
    start_by: Interval.optional().meta({
      description: 'How long after its run time a job may start. Default: no limit.',
    }),
    priority: wholeNumber(0, 9).optional(),
    max_attempts: wholeNumber(1, 1000).optional(),
    unique_key: Words.optional(),
    group_key: Words.optional(),
  })
  .meta({
    id: 'NewSchedule',
    examples: [
      {
        schedule: 'nightly-report',
        job_type: 'send_reminder',
        payload: { to: 'ada@example.com', subject: 'Report', text: 'It is ready.' },
        cron: '0 3 * * *',
        zone: 'Europe/Berlin',
      },
    ],
  });

export const addSchedule = defineRoute({
  method: 'post',
  path: '/admin/schedules',
  operation: 'createSchedule',
  tag: TAG,
  summary: 'Create a schedule',
  scope: ['jobs:enqueue'],
  idempotent: true,
  body: ScheduleBody,
  jobTypes: (body) => [body.job_type],
  answers: {
    201: { description: 'The schedule is created.', schema: ChangedSchedule },
    404: { description: 'No handler for its jobs is deployed.' },
    409: { description: 'A schedule has this name.' },
  },
  run: async ({ body, json, db, deps }) => {
    const job = { job_type: body.job_type, routing_key: body.routing_key };
    const known = await readKnownHandlers(db, deps.schemas);
    // Without the time of its tick, the payload can violate the schema.
    const schemaOf = body.tick_key === undefined ? known.schemaOf : () => undefined;
    const checked = await checkNewJob({ ...known, schemaOf }, job, json as JsonBody, []);
    const spec = specOf(checked, body);
    if (spec.tickKey !== null) await checkTick(spec, known.schemaOf(handlerName(spec)));
    if (!(await createSchedule(db, spec))) {
      throw new Problem('invalid-state', `a schedule ${body.schedule} exists: delete it first, or use another name`);
    }
    return { status: 201, body: snakeCase(existing(await findSchedule(db, body.schedule))), wake: true };
  },
});

/** Checks the payload as the job of a tick has it. */
async function checkTick({ payload, tickKey }: ScheduleSpec, schema: PayloadSchema | undefined): Promise<void> {
  if (schema === undefined) return;
  try {
    await parsePayload(tickPayload(payload, tickKey, EXAMPLE_TICK), schema);
  } catch (error) {
    throw problemOf(error);
  }
}

function problemOf(error: unknown): unknown {
  const faults = refusal(error, '');
  return faults === undefined ? error : invalid(faults);
}

function specOf(checked: CheckedJob, body: z.output<typeof ScheduleBody>): ScheduleSpec {
  if (checked.kind === 'unknown')
    throw new Problem('unknown-job-type', checked.fault.detail, { errors: [checked.fault] });
  if (checked.kind === 'unavailable') throw checked.problem;
  if (checked.kind === 'invalid') throw invalid(checked.faults);
  const { cron, every, zone, overlap, spread, priority } = body;
  const options = {
    ...{ cron, every, zone, overlap, spread, priority, tickKey: body.tick_key },
    ...{ catchUp: body.catch_up as CatchUp | undefined, maxAttempts: body.max_attempts },
    ...{ startBy: body.start_by, uniqueKey: body.unique_key, groupKey: body.group_key },
  };
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  try {
    return readScheduleText(body.schedule, checked.job, given, checked.job.payload);
  } catch (error) {
    throw problemOf(error);
  }
}

import * as z from 'zod';
import { SCHEDULE_NAME } from '../../core/handler/schedule.ts';
import { exactJson, snakeCase } from '../../core/json.ts';
import type { Queryable } from '../../core/postgres/database.ts';
import { deleteSchedule, pauseSchedule, resumeSchedule, runSchedule } from '../../core/schedules/change-schedule.ts';
import { findSchedule, listSchedules, showSchedule } from '../../core/schedules/list-schedules.ts';
import { ChangedSchedule, RanSchedule, Schedule, ShownSchedule } from '../documents/schedule-documents.ts';
import { readCursor, rowsDocument } from '../paging.ts';
import { Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import { PageQuery, pageOf, wholeNumber } from '../schemas.ts';

export const TAG = 'Schedules';
export const Name = z
  .string()
  .regex(SCHEDULE_NAME, 'expected up to 100 lower-case letters, digits, - and _, a letter first')
  .meta({ example: 'nightly-report' });
const Params = z.strictObject({ name: Name });
const NOT_FOUND = { 404: { description: 'The schedule is unknown.' } };

export const listAllSchedules = defineRoute({
  method: 'get',
  path: '/admin/schedules',
  operation: 'listSchedules',
  tag: TAG,
  summary: 'List schedules by name',
  scope: ['jobs:read'],
  query: PageQuery.omit({ page: true }),
  answers: { 200: { description: 'A page of schedules.', schema: pageOf(Schedule) } },
  run: async ({ query: { limit, cursor }, db }) => {
    const after = cursor === undefined ? '' : readCursor(cursor, 'schedules', (text) => SCHEDULE_NAME.test(text));
    const found = await listSchedules(db, { limit: limit + 1, after });
    const keyOf = ({ schedule }: (typeof found)[number]) => schedule;
    return { status: 200, body: rowsDocument(found, { limit, question: 'schedules', keyOf }) };
  },
});

export const getSchedule = defineRoute({
  method: 'get',
  path: '/admin/schedules/{name}',
  operation: 'getSchedule',
  tag: TAG,
  summary: 'Show a schedule and its next ticks',
  scope: ['jobs:read'],
  params: Params,
  query: z.strictObject({ ticks: wholeNumber(0, 100).default(5).meta({ description: 'The number of next ticks.' }) }),
  answers: { 200: { description: 'The schedule.', schema: ShownSchedule }, ...NOT_FOUND },
  run: async ({ params: { name }, query: { ticks }, db }) => {
    const { payload, ...shown } = existing(await showSchedule(db, name, ticks));
    return { status: 200, body: { ...snakeCase(shown), payload: exactJson(payload), payload_restricted: false } };
  },
});

export const runNow = defineRoute({
  method: 'post',
  path: '/admin/schedules/{name}/run',
  operation: 'runSchedule',
  tag: TAG,
  summary: 'Enqueue a job of a schedule now, in addition to its ticks',
  scope: ['jobs:operate'],
  idempotent: true,
  params: Params,
  answers: { 201: { description: 'The job is in the table.', schema: RanSchedule }, ...NOT_FOUND },
  run: async ({ params: { name }, db }) => {
    const id = existing(await runSchedule(db, name));
    return { status: 201, body: { schedule: name, job_id: id }, wake: true };
  },
});

export const pauseOne = defineRoute({
  method: 'put',
  path: '/admin/schedules/{name}/pause',
  operation: 'pauseSchedule',
  tag: TAG,
  summary: 'Pause a schedule',
  scope: ['jobs:operate'],
  params: Params,
  answers: { 200: { description: 'The schedule is paused.', schema: ChangedSchedule }, ...NOT_FOUND },
  run: async ({ params: { name }, db }) => change(db, name, pauseSchedule),
});

export const resumeOne = defineRoute({
  method: 'put',
  path: '/admin/schedules/{name}/resume',
  operation: 'resumeSchedule',
  tag: TAG,
  summary: 'Resume a paused schedule from its next tick',
  scope: ['jobs:operate'],
  params: Params,
  answers: { 200: { description: 'The schedule is not paused.', schema: ChangedSchedule }, ...NOT_FOUND },
  run: async ({ params: { name }, db }) => ({ ...(await change(db, name, resumeSchedule)), wake: true }),
});

export const removeSchedule = defineRoute({
  method: 'delete',
  path: '/admin/schedules/{name}',
  operation: 'deleteSchedule',
  tag: TAG,
  summary: 'Delete a schedule that was created at run time; its jobs stay',
  scope: ['jobs:enqueue', 'jobs:operate'],
  params: Params,
  answers: {
    204: { description: 'The schedule is deleted.' },
    409: { description: 'A handler file declares the schedule.' },
    ...NOT_FOUND,
  },
  run: async ({ params: { name }, db }) => {
    const answer = await deleteSchedule(db, name);
    if (answer === 'declared') {
      throw new Problem('invalid-state', `a handler file declares ${name}: remove it there and deploy, or pause it`);
    }
    existing(answer === 'deleted' ? answer : undefined);
    return { status: 204 };
  },
});

async function change(db: Queryable, name: string, apply: (db: Queryable, name: string) => Promise<void>) {
  await apply(db, name);
  return { status: 200, body: snakeCase(existing(await findSchedule(db, name))) };
}

export function existing<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new Problem('not-found', 'no schedule has this name: see GET /admin/schedules');
  return found;
}

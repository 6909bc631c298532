import * as z from 'zod';
import type { CatchUp } from '../../core/handler/schedule.ts';
import { partlySeen } from '../redact.ts';
import { Job } from '../schemas.ts';

const SCHEDULE = {
  schedule: z.string().meta({ description: 'The name of the schedule.' }),
  state: z
    .enum(['active', 'paused', 'late', 'failed', 'no_handler'])
    .meta({ description: 'late: its next tick is overdue. failed: `fault` states why it has no ticks.' }),
  declared: z.boolean().meta({ description: 'Whether a handler file declares it; only a deployment then deletes it.' }),
  ...{ job_type: z.string(), routing_key: z.string() },
  cron: z.string().nullable(),
  every_seconds: z.number().int().nullable(),
  zone: z.string(),
  catch_up: z.string() as unknown as z.ZodType<CatchUp>,
  overlap: z.enum(['allow', 'skip', 'queue-one']),
  ...{ spread_seconds: z.number().int(), start_by_seconds: z.number().int().nullable(), priority: z.number().int() },
  paused_at: z.iso.datetime().nullable(),
  fault: z.string().nullable(),
  next_tick_at: z.iso.datetime().nullable(),
  last_tick_at: z.iso.datetime().nullable(),
  last_job_id: z.string().nullable(),
  last_job_status: Job.shape.status.nullable(),
  created_at: z.iso.datetime(),
};
export const Schedule = z.object(SCHEDULE).meta({ id: 'Schedule' });
export const ChangedSchedule = z.object(partlySeen(SCHEDULE)).meta({ id: 'ChangedSchedule' });
export const ShownSchedule = z
  .object({
    ...SCHEDULE,
    next_ticks: z.array(z.iso.datetime()).meta({ description: 'The next ticks while the schedule is not paused.' }),
    payload: z.unknown().optional().meta({ description: 'Only for callers with payload:read.' }),
    payload_restricted: z.boolean(),
  })
  .meta({ id: 'ScheduleDetail' });
export const RanSchedule = z.object({ schedule: z.string(), job_id: z.string() }).meta({ id: 'RanSchedule' });

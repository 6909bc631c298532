import * as z from 'zod';
import { partlySeen } from '../redact.ts';
import { Id, Job, JobDetail, RedriveFilter } from '../schemas.ts';

const HandlerNumbers = z.object({
  handler: z.string(),
  paused: z.boolean(),
  queue: z.string().meta({ description: 'Name of the dead-letter queue.' }),
  depth: z.number().int().meta({ description: 'Messages in that queue when the mirror last checked it.' }),
  dead: z.number().int().meta({ description: 'Open dead letters.' }),
});

const count = z.number().int();
const LiveCounts = z.object({ pending: count, dispatched: count, running: count, failed: count, dead_letter: count });
const Counts = z.object({ ...LiveCounts.shape, succeeded: count, skipped: count, cancelled: count });
const Events = z.record(z.string(), z.number().int());

export const StatsDocument = z
  .object({
    as_of: z.iso.datetime(),
    counted_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the jobs were counted. A large table is counted every few minutes.' }),
    by_status: Counts.meta({ description: 'Unfinished jobs, and all jobs that ever finished, deleted ones included.' }),
    by_job_type: z.record(z.string(), Counts).meta({ description: 'The same for each job type.' }),
    oldest_due_seconds: z.number().nullable().meta({ description: 'Seconds that the oldest due job has waited.' }),
    oldest_due: z.record(z.string(), z.number()).meta({ description: 'The same for each job type with a due job.' }),
    throughput: z
      .object({ last_5_minutes: Events, last_hour: Events })
      .meta({ description: 'Number of events of each kind.' }),
    dispatcher_last_round_at: z.iso.datetime().nullable(),
    handlers: z.array(HandlerNumbers),
  })
  .meta({ id: 'Stats' });

export const Enqueued = z
  .object({ ...partlySeen(Job.shape), deduplicated: z.boolean(), replaced: z.boolean() })
  .meta({ id: 'EnqueuedJob' });

export const TrackedJob = z.object(partlySeen(JobDetail.shape)).meta({ id: 'TrackedJob' });

export const Cancelled = z.object({ id: z.string(), answer: z.enum(['cancelled', 'requested']) });

export const Retried = z
  .object({ ...TrackedJob.shape, answer: z.enum(['redriven', 'due']) })
  .meta({ description: 'redriven: the job was dead and has fresh attempts. due: the job had failed and is due now.' });

export const Round = z.object({ claimed: z.number().int(), sent: z.number().int() }).meta({ id: 'Round' });

export const Redrive = z
  .object({
    id: z.string(),
    status: z.enum(['running', 'paused', 'done', 'cancelled']),
    rate_per_second: z.number().nullable(),
    ...{ expected: count, done: count, skipped: count },
    filter: RedriveFilter,
    requested_by: z.string(),
    created_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Redrive' });
export const ChangedRedrive = z.object(partlySeen(Redrive.shape)).meta({ id: 'ChangedRedrive' });
export const ShownRedrive = z
  .object({
    ...Redrive.shape,
    moved_jobs: z
      .array(Id)
      .optional()
      .meta({ description: 'The jobs of job_id that this redrive made pending again.' }),
  })
  .meta({ id: 'RedriveDetail' });

const DEAD_LETTER = {
  dead_letter_id: z.string(),
  job_id: z.string().nullable().meta({ description: 'Null for a message without a job.' }),
  job_type: z.string().nullable(),
  routing_key: z.string().nullable(),
  attempts: z.number().int().nullable(),
  max_attempts: z.number().int().nullable(),
  last_error: z.string().nullable(),
  fingerprint: z.string().nullable(),
  died_at: z.iso.datetime(),
  first_seen_at: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'When the mirror first saw the message in the dead-letter queue.' }),
  last_seen_at: z.iso.datetime().nullable(),
};
export const DeadLetter = z.object(DEAD_LETTER).meta({ id: 'DeadLetter' });

export const DeadLetterDetail = z
  .object({
    ...DEAD_LETTER,
    error_stacktrace: z.string().nullable(),
    message_id: z.string().nullable(),
    queue_name: z.string().nullable(),
    message_expires_at: z.iso.datetime().nullable().meta({ description: 'When SQS deletes the message.' }),
    created_at: z.iso.datetime().nullable(),
    payload: z.unknown().optional().meta({ description: 'Only for callers with payload:read.' }),
    raw_body: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'Body of a message without a job. Only for callers with payload:read.' }),
    payload_restricted: z.boolean(),
    payload_too_large: z
      .boolean()
      .optional()
      .meta({ description: 'True when the payload of the job is larger than 1 MiB and therefore not shown.' }),
  })
  .meta({ id: 'DeadLetterDetail' });

const Group = z
  .object({
    fingerprint: z.string().nullable(),
    jobs: z.number().int(),
    handlers: z.array(z.string()),
    last_error: z.string().nullable().meta({ description: 'Error of the newest dead letter.' }),
    first_died_at: z.iso.datetime(),
    last_died_at: z.iso.datetime(),
  })
  .meta({ id: 'DeadLetterGroup' });
export const Groups = z.object({
  items: z.array(Group),
  total: z.number().int().meta({ description: 'Dead letters in all groups.' }),
  groups: z.number().int(),
  has_more: z.boolean(),
});

export const Preview = z
  .object({
    movable: z.number().int(),
    total: z.number().int(),
    handlers: z.array(
      z.object({
        job_type: z.string().nullable(),
        routing_key: z.string().nullable(),
        verdict: z.enum(['movable', 'no_handler', 'stray']),
        paused: z
          .boolean()
          .meta({ description: 'Whether the handler is paused; redriven jobs then wait until it is resumed.' }),
        jobs: z.number().int(),
      }),
    ),
  })
  .meta({ id: 'RedrivePreview' });

export const Handler = z
  .object({
    id: z.string(),
    job_type: z.string(),
    routing_key: z.string(),
    queue_url: z.string(),
    dead_letter_queue_url: z.string(),
    function_name: z.string(),
    ...{ timeout_seconds: count, max_attempts: count, concurrency: count, batch_size: count },
    max_in_flight: z.number().int().meta({ description: 'The current limit on jobs that are dispatched or running.' }),
    in_flight: z.number().int(),
    paused_at: z.iso.datetime().nullable(),
    deployed_at: z.iso.datetime(),
    held_until: z.iso.datetime().nullable(),
    hold_reason: z.string().nullable(),
    jobs: LiveCounts.nullable().meta({ description: 'Unfinished jobs of the handler; null before the first count.' }),
    counted_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the jobs were counted. A large table is counted every few minutes.' }),
  })
  .meta({ id: 'Handler' });
export const ChangedHandler = z.object(partlySeen(Handler.shape)).meta({ id: 'ChangedHandler' });

export const ShownGroup = z
  .object({
    fingerprint: z.string(),
    last_error: z.string().nullable().meta({ description: 'Error of the newest dead letter.' }),
    error_stacktrace: z.string().nullable(),
    first_died_at: z.iso.datetime(),
    last_died_at: z.iso.datetime(),
    jobs: z.number().int(),
    handlers: z.array(z.object({ jobs: z.number().int(), handler: z.string() })),
    samples: z.array(Id).meta({ description: 'Jobs of the group, newest first.' }),
  })
  .meta({ id: 'DeadLetterGroupDetail' });

export const Health = z.object({ status: z.literal('ok'), version: z.string() });

export const DiscardPreview = z
  .object({ matched: z.number().int(), until_id: z.string().meta({ description: 'Id of the newest match.' }) })
  .meta({ id: 'DiscardPreview' });
export const Discarded = z
  .object({
    discarded: z.number().int(),
    left: z.array(Id).meta({ description: 'Jobs that were not discarded, since a redrive is moving them.' }),
    next_cursor: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'Discarded' });

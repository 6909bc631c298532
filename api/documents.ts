import * as z from 'zod';
import { Id, Job, JobDetail } from './schemas.ts';

const HandlerNumbers = z.object({
  handler: z.string(),
  paused: z.boolean(),
  queue: z.string().meta({ description: 'Its dead-letter queue.' }),
  depth: z.number().int().meta({ description: 'Messages in that queue, when the mirror looked last.' }),
  dead: z.number().int().meta({ description: 'Open dead letters.' }),
});

const count = z.number().int();
const Counts = z.object({
  pending: count,
  dispatched: count,
  running: count,
  failed: count,
  dead_letter: count,
});
const Events = z.record(z.string(), z.number().int());

export const StatsDocument = z
  .object({
    as_of: z.iso.datetime(),
    counted_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the jobs were counted; many are within minutes.' }),
    by_status: Counts.meta({ description: 'Jobs that live. What has finished is in the throughput.' }),
    by_job_type: z.record(z.string(), Counts),
    oldest_due_seconds: z.number().nullable().meta({ description: 'How long the oldest due job has waited.' }),
    oldest_due: z.record(z.string(), z.number()).meta({ description: 'The same of each job type that has one.' }),
    throughput: z.object({ last_5_minutes: Events, last_hour: Events }).meta({ description: 'Events of each kind.' }),
    dispatcher_last_round_at: z.iso.datetime().nullable(),
    handlers: z.array(HandlerNumbers),
  })
  .meta({ id: 'Stats' });

export const Enqueued = z.object({ ...Job.shape, deduplicated: z.boolean() }).meta({ id: 'EnqueuedJob' });

export const Cancelled = z.object({ id: z.string(), answer: z.enum(['cancelled', 'requested']) });

export const Retried = z
  .object({ ...JobDetail.shape, answer: z.enum(['redriven', 'due']) })
  .meta({ description: 'redriven: it was dead and has fresh attempts. due: it had failed and no longer waits.' });

export const Round = z.object({ claimed: z.number().int(), sent: z.number().int() }).meta({ id: 'Round' });

export const Redrive = z
  .object({
    id: z.string(),
    status: z.enum(['running', 'done', 'cancelled']),
    rate_per_second: z.number().nullable(),
    expected: z.number().int(),
    done: z.number().int(),
    skipped: z.number().int(),
    requested_by: z.string(),
    created_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Redrive' });
export const ShownRedrive = z
  .object({
    ...Redrive.shape,
    moved_jobs: z
      .array(Id)
      .optional()
      .meta({ description: 'Which of the jobs that were asked for it put back to work.' }),
  })
  .meta({ id: 'RedriveDetail' });

const DEAD_LETTER = {
  dead_letter_id: z.string(),
  job_id: z.string().nullable().meta({ description: "Null for a message that is nobody's job." }),
  job_type: z.string().nullable(),
  routing_key: z.string().nullable(),
  attempts: z.number().int().nullable(),
  max_attempts: z.number().int().nullable(),
  last_error: z.string().nullable(),
  fingerprint: z.string().nullable(),
  died_at: z.iso.datetime(),
  first_seen_at: z.iso.datetime().nullable().meta({ description: 'In the dead-letter queue.' }),
  last_seen_at: z.iso.datetime().nullable(),
};
export const DeadLetter = z.object(DEAD_LETTER).meta({ id: 'DeadLetter' });

export const DeadLetterDetail = z
  .object({
    ...DEAD_LETTER,
    error_stacktrace: z.string().nullable(),
    message_id: z.string().nullable(),
    queue_name: z.string().nullable(),
    message_expires_at: z.iso.datetime().nullable().meta({ description: 'When SQS drops its message.' }),
    created_at: z.iso.datetime().nullable(),
    payload: z.unknown().optional().meta({ description: 'Only for callers with payload:read.' }),
    raw_body: z.string().nullable().optional().meta({ description: "Of a message that is nobody's job; the same." }),
    payload_restricted: z.boolean(),
  })
  .meta({ id: 'DeadLetterDetail' });

const Group = z
  .object({
    fingerprint: z.string().nullable(),
    jobs: z.number().int(),
    handlers: z.array(z.string()),
    last_error: z.string().nullable().meta({ description: 'Of the newest.' }),
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
        verdict: z.enum(['movable', 'no_handler', 'stray', 'not_dead']),
        paused: z.boolean().meta({ description: 'What is redriven waits until its handler is resumed.' }),
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
    timeout_seconds: z.number().int(),
    max_attempts: z.number().int(),
    concurrency: z.number().int(),
    batch_size: z.number().int(),
    max_in_flight: z.number().int().meta({ description: 'The most of its jobs that are on their way or run, now.' }),
    in_flight: z.number().int(),
    paused_at: z.iso.datetime().nullable(),
    deployed_at: z.iso.datetime(),
    held_until: z.iso.datetime().nullable(),
    hold_reason: z.string().nullable(),
    jobs: Counts.nullable().meta({ description: 'Its jobs that live; null before they were counted.' }),
    counted_at: z.iso.datetime().nullable().meta({ description: 'When they were counted; many are within minutes.' }),
  })
  .meta({ id: 'Handler' });

export const ShownGroup = z
  .object({
    fingerprint: z.string(),
    last_error: z.string().nullable().meta({ description: 'Of the newest.' }),
    error_stacktrace: z.string().nullable(),
    first_died_at: z.iso.datetime(),
    last_died_at: z.iso.datetime(),
    jobs: z.number().int(),
    handlers: z.array(z.object({ jobs: z.number().int(), handler: z.string() })),
    samples: z.array(Id).meta({ description: 'Jobs of it, the newest first.' }),
  })
  .meta({ id: 'DeadLetterGroupDetail' });

export const Health = z.object({ status: z.literal('ok'), version: z.string() });

export const DiscardPreview = z
  .object({ matched: z.number().int(), until_id: z.string().meta({ description: 'The newest of them.' }) })
  .meta({ id: 'DiscardPreview' });
export const Discarded = z
  .object({
    discarded: z.number().int(),
    left: z.array(Id).meta({ description: 'Jobs that somebody redrives at this moment.' }),
    next_cursor: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'Discarded' });

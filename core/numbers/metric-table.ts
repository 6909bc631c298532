import { SERVICE } from '../log.ts';

/** Every number that Millrace publishes, in one table: what is not here is not published. */

export interface PrometheusMetric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

/** On `/metrics`. Times are in seconds. */
export const PROMETHEUS_METRICS = {
  millrace_job_events_total: {
    type: 'counter',
    labels: ['event', 'job_type', 'status'],
    help: 'What happened to jobs. failed = retried + dead_lettered + cancelled after failing.',
  },
  millrace_jobs: { type: 'gauge', labels: ['status', 'job_type'], help: 'Jobs that are not finished.' },
  millrace_oldest_due_job_age_seconds: {
    type: 'gauge',
    labels: ['job_type'],
    help: 'How long the oldest due job has waited to be claimed.',
  },
  millrace_job_wait_seconds: { type: 'histogram', labels: ['job_type'], help: 'From due to the start of an attempt.' },
  millrace_job_duration_seconds: {
    type: 'histogram',
    labels: ['job_type', 'outcome'],
    help: 'From the start of an attempt to its outcome.',
  },
  millrace_dispatch_runs_total: { type: 'counter', labels: ['result'], help: 'Rounds of the dispatcher.' },
  millrace_dispatch_duration_seconds: { type: 'histogram', labels: [], help: 'Length of a round that went well.' },
  millrace_dispatched_jobs_total: { type: 'counter', labels: ['queue'], help: 'Messages sent to SQS.' },
  millrace_dispatch_errors_total: { type: 'counter', labels: ['reason'], help: 'Jobs that SQS did not take.' },
  millrace_dispatcher_last_success_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'When the last round of the dispatcher ended, by the database.',
  },
  millrace_dlq_messages: {
    type: 'gauge',
    labels: ['queue', 'store'],
    help: 'Dead letters: open ones in the table, and messages in SQS when the mirror last looked.',
  },
  millrace_redrive_jobs_total: { type: 'counter', labels: ['result'], help: 'Jobs put back to work by hand.' },
  millrace_handler_paused: { type: 'gauge', labels: ['handler'], help: '1 while an operator has paused it.' },
  millrace_build_info: { type: 'gauge', labels: ['version', 'node'], help: 'Always 1.' },
} as const satisfies Record<string, PrometheusMetric>;

export type PrometheusName = keyof typeof PROMETHEUS_METRICS;

export const CLOUDWATCH_NAMESPACE = 'Millrace';

/** Stages share an account, and must not answer for one another. */
export function serviceOf(stage: string | undefined): string {
  return stage === undefined ? SERVICE : `${SERVICE}-${stage}`;
}

const OF_ALL = [['service']];
/** Unless told to leave job types out. */
const BY_JOB_TYPE = [['service'], ['service', 'job_type']];

interface CloudWatchMetric {
  readonly unit: 'Count' | 'Seconds' | 'Milliseconds';
  readonly dimensions: readonly (readonly string[])[];
  /** The function that prints it. */
  readonly from: 'dispatcher' | 'handler' | 'mirror';
}

/** In CloudWatch, of which alarms are made. */
export const CLOUDWATCH_METRICS = {
  Enqueued: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  Succeeded: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  Failed: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  Retried: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  DeadLettered: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  ManualRetry: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  DueJobs: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'mirror' },
  OldestDueAge: { unit: 'Seconds', dimensions: OF_ALL, from: 'dispatcher' },
  DispatchErrors: { unit: 'Count', dimensions: OF_ALL, from: 'dispatcher' },
  WaitTime: { unit: 'Milliseconds', dimensions: BY_JOB_TYPE, from: 'handler' },
  Duration: { unit: 'Milliseconds', dimensions: BY_JOB_TYPE, from: 'handler' },
  DeadLetterMessages: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'mirror' },
} as const satisfies Record<string, CloudWatchMetric>;

export type CloudWatchName = keyof typeof CLOUDWATCH_METRICS;

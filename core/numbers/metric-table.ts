import { SERVICE } from '../log.ts';

/** Every metric that Millrace publishes; a metric outside this table is never published. */

export interface PrometheusMetric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

/** The metrics of `/metrics`. Times are in seconds. */
export const PROMETHEUS_METRICS = {
  millrace_job_events_total: {
    type: 'counter',
    labels: ['event', 'job_type', 'status'],
    help: 'Number of job events. failed = retried + dead_lettered + cancelled after a failure.',
  },
  millrace_jobs: { type: 'gauge', labels: ['status', 'job_type'], help: 'Number of unfinished jobs.' },
  millrace_oldest_due_job_age_seconds: {
    type: 'gauge',
    labels: ['job_type'],
    help: 'Time that the oldest due job has waited to be claimed, in seconds.',
  },
  millrace_job_wait_seconds: {
    type: 'histogram',
    labels: ['job_type'],
    help: 'Time from the due time of a job to the start of the attempt, in seconds.',
  },
  millrace_job_duration_seconds: {
    type: 'histogram',
    labels: ['job_type', 'outcome'],
    help: 'Duration of each attempt, from its start to its outcome, in seconds.',
  },
  millrace_dispatch_runs_total: { type: 'counter', labels: ['result'], help: 'Number of rounds of the dispatcher.' },
  millrace_dispatch_duration_seconds: {
    type: 'histogram',
    labels: [],
    help: 'Duration of each successful round, in seconds.',
  },
  millrace_dispatched_jobs_total: { type: 'counter', labels: ['queue'], help: 'Number of messages sent to SQS.' },
  millrace_dispatch_errors_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Number of messages that SQS did not accept.',
  },
  millrace_dispatcher_last_success_timestamp_seconds: {
    type: 'gauge',
    labels: [],
    help: 'End of the last successful round, in seconds since 1970, by the clock of the database.',
  },
  millrace_dlq_messages: {
    type: 'gauge',
    labels: ['queue', 'store'],
    help: 'Number of open dead letters in the table, and of messages in SQS at the last count of the mirror.',
  },
  millrace_redrive_jobs_total: { type: 'counter', labels: ['result'], help: 'Number of jobs that were redriven.' },
  millrace_handler_paused: {
    type: 'gauge',
    labels: ['handler'],
    help: '1 if an operator has paused the handler, else 0.',
  },
  millrace_schedules: {
    type: 'gauge',
    labels: ['state'],
    help: 'Number of schedules in each state: active, paused, late, failed, or no_handler.',
  },
  millrace_build_info: {
    type: 'gauge',
    labels: ['version', 'node'],
    help: 'Always 1; the labels name the version of Millrace and of Node.',
  },
} as const satisfies Record<string, PrometheusMetric>;

export type PrometheusName = keyof typeof PROMETHEUS_METRICS;

export const CLOUDWATCH_NAMESPACE = 'Millrace';

/** Returns the value of `service`. It includes the stage, because stages may share an account. */
export function serviceOf(stage: string | undefined): string {
  return stage === undefined ? SERVICE : `${SERVICE}-${stage}`;
}

const OF_ALL = [['service']];
/** The dimensions unless the stage omits job types. */
const BY_JOB_TYPE = [['service'], ['service', 'job_type']];

interface CloudWatchMetric {
  readonly unit: 'Count' | 'Seconds' | 'Milliseconds';
  readonly dimensions: readonly (readonly string[])[];
  /** The function that prints it. */
  readonly from: 'dispatcher' | 'handler' | 'mirror';
}

/** The metrics in CloudWatch, which the alarms use. */
export const CLOUDWATCH_METRICS = {
  Enqueued: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  Succeeded: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  Failed: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  Retried: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  DeadLettered: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  ManualRetry: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  Skipped: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  Cancelled: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'dispatcher' },
  DueJobs: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'mirror' },
  OldestDueAge: { unit: 'Seconds', dimensions: OF_ALL, from: 'dispatcher' },
  StalledHandlers: { unit: 'Count', dimensions: OF_ALL, from: 'dispatcher' },
  LostAttempts: { unit: 'Count', dimensions: OF_ALL, from: 'dispatcher' },
  DispatchErrors: { unit: 'Count', dimensions: OF_ALL, from: 'dispatcher' },
  LateSchedules: { unit: 'Count', dimensions: OF_ALL, from: 'dispatcher' },
  WaitTime: { unit: 'Milliseconds', dimensions: BY_JOB_TYPE, from: 'handler' },
  Duration: { unit: 'Milliseconds', dimensions: BY_JOB_TYPE, from: 'handler' },
  DeadLetterMessages: { unit: 'Count', dimensions: BY_JOB_TYPE, from: 'mirror' },
  FailingJobTypes: { unit: 'Count', dimensions: OF_ALL, from: 'mirror' },
} as const satisfies Record<string, CloudWatchMetric>;

export type CloudWatchName = keyof typeof CLOUDWATCH_METRICS;

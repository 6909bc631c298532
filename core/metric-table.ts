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

/** In CloudWatch, by dimensions `service` and, unless switched off, `service` and `job_type`. */
export const CLOUDWATCH_METRICS = {
  Enqueued: { unit: 'Count', from: 'dispatcher' },
  Succeeded: { unit: 'Count', from: 'dispatcher' },
  Failed: { unit: 'Count', from: 'dispatcher' },
  Retried: { unit: 'Count', from: 'dispatcher' },
  DeadLettered: { unit: 'Count', from: 'dispatcher' },
  ManualRetry: { unit: 'Count', from: 'dispatcher' },
  DueJobs: { unit: 'Count', from: 'mirror' },
  OldestDueAge: { unit: 'Seconds', from: 'dispatcher' },
  DispatchErrors: { unit: 'Count', from: 'dispatcher' },
  WaitTime: { unit: 'Milliseconds', from: 'handler' },
  Duration: { unit: 'Milliseconds', from: 'handler' },
  DeadLetterMessages: { unit: 'Count', from: 'mirror' },
} as const satisfies Record<string, { unit: 'Count' | 'Seconds' | 'Milliseconds'; from: string }>;

export type CloudWatchName = keyof typeof CLOUDWATCH_METRICS;

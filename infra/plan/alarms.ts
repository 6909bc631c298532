import { functionName } from '../../core/handler/naming.ts';
import type { CloudWatchName } from '../../core/numbers/metric-table.ts';
import { type AlarmSpec, functionMetric, MOSTLY, ONCE, ownMetric } from './alarm.ts';
import { clusterAlarms, instanceAlarms } from './database-alarms.ts';
import { apiAlarm, platformAlarms } from './platform-alarms.ts';
import { type RotatedSecret, rotationAlarm } from './rotation-alarm.ts';

/** What a stage has besides its handlers. */
export interface WatchedStage {
  readonly stage: string;
  /** Id of the HTTP API. */
  readonly apiId?: string;
  /** Identifier of the cluster that the stage created. */
  readonly clusterId?: string;
  /** Identifier of the instance that the stage created. */
  readonly instanceId?: string;
  /** The secrets that are rotated. */
  readonly rotated?: readonly RotatedSecret[];
}

const MINUTE = 60;
const FIVE_MINUTES = 300;
/** A dispatcher run lasts 125 s, and Lambda stops it after 150 s. */
const DISPATCHER_SLOW_MS = 140_000;
const FLOOD = 100;
const THROTTLED = 5;

/**
 * Returns the alarms of a stage. Their number and price do not depend on its handlers: the dispatcher and the mirror
 * publish one number for all handlers, and name the worst in their logs (docs/decisions/0073).
 */
export function alarmsOf({ stage, apiId, clusterId, instanceId, rotated = [] }: WatchedStage): AlarmSpec[] {
  return [
    ...dispatcherAlarms(stage),
    ...sendAlarms(stage),
    ...jobAlarms(stage),
    ...platformAlarms(stage),
    ...(apiId === undefined ? [] : [apiAlarm(stage, apiId)]),
    ...(clusterId === undefined ? [] : clusterAlarms(stage, clusterId)),
    ...(instanceId === undefined ? [] : instanceAlarms(stage, instanceId)),
    ...(rotated.length === 0 ? [] : [rotationAlarm(stage, rotated)]),
  ];
}

const own = (stage: string, metric: CloudWatchName, statistic: string, seconds: number) => ({
  metrics: { metric: ownMetric(stage, metric, statistic, seconds) },
});

function dispatcherAlarms(stage: string): AlarmSpec[] {
  const name = functionName(stage, 'dispatcher');
  const page = { severity: 'page', command: 'npx millrace doctor', anchor: 'nothing-runs' } as const;
  const of = (metric: string, statistic: string, periodSeconds: number) => ({
    metrics: { metric: functionMetric(name, metric, statistic, periodSeconds) },
  });
  return [
    {
      // Not the invocations: a dispatcher that is invoked and completes no round is as silent as one that is not.
      ...{ ...page, ...ONCE, name: `${name}-silent`, ...own(stage, 'StalledHandlers', 'SampleCount', FIVE_MINUTES) },
      ...{ comparison: '<', threshold: 1, missing: 'breaching' },
      meaning: 'The dispatcher completed no round for 5 minutes: no jobs are sent.',
    },
    {
      ...{ ...page, ...ONCE, name: `${name}-errors`, ...of('Errors', 'Sum', MINUTE), datapoints: 2, periods: 3 },
      meaning: 'The dispatcher fails: jobs may be late.',
    },
    {
      ...{ ...page, ...ONCE, name: `${name}-slow`, ...of('Duration', 'Maximum', FIVE_MINUTES) },
      ...{ severity: 'ticket', threshold: DISPATCHER_SLOW_MS },
      meaning: 'A dispatcher run almost reached its timeout.',
    },
    {
      ...{ ...page, ...ONCE, name: `${name}-throttled`, ...of('Throttles', 'Sum', FIVE_MINUTES) },
      ...{ severity: 'ticket', comparison: '>=', threshold: THROTTLED },
      meaning: 'Lambda throttles the dispatcher: the account has reached its concurrency limit.',
    },
  ];
}

function sendAlarms(stage: string): AlarmSpec[] {
  return [
    {
      ...{ ...MOSTLY, name: `millrace-${stage}-handlers-stalled`, severity: 'page' },
      ...own(stage, 'StalledHandlers', 'Maximum', MINUTE),
      meaning: 'A handler has jobs and starts none: its jobs are not sent, or its function does not receive them.',
      ...{ command: 'npx millrace doctor', anchor: 'jobs-wait-in-sqs' },
    },
    {
      // A round of the dispatcher makes every due tick, so a schedule is late only if each try fails.
      ...{ ...MOSTLY, name: `millrace-${stage}-schedules-late`, severity: 'page' },
      ...own(stage, 'LateSchedules', 'Maximum', MINUTE),
      meaning: 'A tick of a schedule has been due for about 5 minutes, and the dispatcher does not enqueue its job.',
      ...{ command: 'npx millrace schedules', anchor: 'a-schedule-runs-late' },
    },
    {
      // A handler whose queue is missing is held for a minute, so there can be minutes without an error.
      ...{ ...MOSTLY, name: `millrace-${stage}-dispatch-errors`, severity: 'page' },
      ...own(stage, 'DispatchErrors', 'Sum', MINUTE),
      meaning: 'SQS refuses the messages of jobs.',
      ...{ command: 'npx millrace handlers', anchor: 'a-queue-is-missing' },
    },
  ];
}

function jobAlarms(stage: string): AlarmSpec[] {
  return [
    {
      ...{ ...ONCE, name: `millrace-${stage}-dead-letter-flood`, severity: 'page', threshold: FLOOD },
      ...own(stage, 'DeadLettered', 'Sum', FIVE_MINUTES),
      meaning: `More than ${FLOOD} jobs died within 5 minutes.`,
      ...{ command: 'npx millrace dlq --since 1h', anchor: 'many-dead-letters' },
    },
    {
      ...{ ...ONCE, name: `millrace-${stage}-dead-letters`, severity: 'ticket' },
      ...own(stage, 'DeadLetterMessages', 'Maximum', FIVE_MINUTES),
      meaning: 'There are dead letters: their jobs run again only after a redrive.',
      ...{ command: 'npx millrace dlq', anchor: 'many-dead-letters' },
    },
    {
      ...{ ...ONCE, name: `millrace-${stage}-job-types-failing`, severity: 'ticket' },
      ...own(stage, 'FailingJobTypes', 'Maximum', FIVE_MINUTES),
      meaning: 'The attempts of a job type fail always, or often and in large numbers. The log of the mirror names it.',
      ...{ command: 'npx millrace jobs list --status failed', anchor: 'where-to-begin' },
    },
    {
      ...{ ...ONCE, name: `millrace-${stage}-attempts-lost`, severity: 'ticket' },
      ...own(stage, 'LostAttempts', 'Sum', FIVE_MINUTES),
      meaning:
        'A process ended without an outcome: out of memory or timed out. The log of the dispatcher names the job.',
      ...{ command: 'npx millrace jobs list --status failed', anchor: 'a-job-is-stuck-running' },
    },
  ];
}

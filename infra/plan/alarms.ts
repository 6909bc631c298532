import { functionName, scheduleGroupName } from '../../core/handler/naming.ts';
import type { CloudWatchName } from '../../core/numbers/metric-table.ts';
import { type AlarmSpec, functionMetric, type MetricSpec, ownMetric, queueMetric } from './alarm.ts';

/** What the alarms use of a handler's plan; times in seconds. */
export interface AlarmedHandler {
  readonly name: string;
  readonly queueName: string;
  readonly deadLetterQueueName: string;
  readonly timeout: number;
  readonly functionTimeout: number;
}

const MINUTE = 60;
const FIVE_MINUTES = 300;
const TEN_MINUTES = 600;
/** A dispatcher run lasts 125 s, and Lambda stops it after 150 s. */
const DISPATCHER_SLOW_MS = 140_000;
const OLDEST_DUE_SECONDS = 300;
const FLOOD = 100;
const THROTTLED = 5;
const FAILED_PERCENT = 20;
const FEWEST_ATTEMPTS = 50;
const NEARLY = 0.8;

const ONCE = { datapoints: 1, periods: 1, comparison: '>', threshold: 0, missing: 'notBreaching' } as const;

/** Returns the alarms of a stage; those on failure rates only with metrics by job type. */
export function alarmsOf(handlers: readonly AlarmedHandler[], stage: string, byJobType = true): AlarmSpec[] {
  const jobTypes = [...new Set(handlers.map(({ name }) => name.split('.')[0] ?? name))];
  return [
    ...dispatcherAlarms(stage),
    ...jobAlarms(stage),
    ...(byJobType ? jobTypes : []).map((jobType) => failureRate(stage, jobType)),
    ...handlers.flatMap((handler) => [...queueAlarms(handler), ...functionAlarms(handler)]),
  ];
}

function dispatcherAlarms(stage: string): AlarmSpec[] {
  const name = functionName(stage, 'dispatcher');
  const page = { severity: 'page', command: 'npx millrace doctor', anchor: 'nothing-runs' } as const;
  const of = (metric: string, statistic: string, periodSeconds: number) => ({
    metric: functionMetric(name, metric, statistic, periodSeconds),
  });
  const scheduler = (metric: string) => schedulerMetric(stage, metric);
  return [
    {
      ...{ ...page, ...ONCE, name: `${name}-silent`, metrics: of('Invocations', 'Sum', FIVE_MINUTES) },
      ...{ comparison: '<', threshold: 1, missing: 'breaching' },
      meaning: 'The dispatcher was not invoked for 5 minutes: no jobs are sent.',
    },
    {
      ...{ ...page, ...ONCE, name: `${name}-errors`, metrics: of('Errors', 'Sum', MINUTE), datapoints: 2, periods: 3 },
      meaning: 'The dispatcher fails: jobs may be late.',
    },
    {
      ...{ ...page, ...ONCE, name: `${name}-slow`, metrics: of('Duration', 'Maximum', FIVE_MINUTES) },
      ...{ severity: 'ticket', threshold: DISPATCHER_SLOW_MS },
      meaning: 'A dispatcher run almost reached its timeout.',
    },
    {
      ...{ ...page, ...ONCE, name: `${name}-throttled`, metrics: of('Throttles', 'Sum', FIVE_MINUTES) },
      ...{ severity: 'ticket', comparison: '>=', threshold: THROTTLED },
      meaning: 'Lambda throttles the dispatcher: the account has reached its concurrency limit.',
    },
    {
      ...{ ...page, ...ONCE, name: `millrace-${stage}-schedule-errors`, severity: 'ticket' },
      metrics: { failed: scheduler('TargetErrorCount'), dropped: scheduler('InvocationDroppedCount') },
      expression: 'FILL(failed, 0) + FILL(dropped, 0)',
      meaning: 'EventBridge Scheduler cannot invoke the dispatcher or the mirror of this stage.',
    },
    {
      ...{ ...page, ...ONCE, name: `${functionName(stage, 'dlq-mirror')}-errors`, severity: 'ticket' },
      ...{
        metrics: { metric: functionMetric(functionName(stage, 'dlq-mirror'), 'Errors', 'Sum', MINUTE) },
        datapoints: 3,
        periods: 5,
      },
      meaning: 'The mirror fails: the contents of the dead-letter queues are not recorded.',
    },
  ];
}

function jobAlarms(stage: string): AlarmSpec[] {
  const own = (metric: CloudWatchName, statistic: string, seconds: number) => ({
    metric: ownMetric({ stage }, metric, statistic, seconds),
  });
  return [
    {
      ...{ ...ONCE, name: `millrace-${stage}-jobs-late`, severity: 'page', missing: 'breaching' },
      ...{ metrics: own('OldestDueAge', 'Maximum', MINUTE), threshold: OLDEST_DUE_SECONDS, datapoints: 3, periods: 3 },
      meaning: 'A due job has waited for more than 5 minutes, or the dispatcher publishes no metrics.',
      ...{ command: 'npx millrace stats', anchor: 'jobs-are-late' },
    },
    {
      // A round of the dispatcher makes every due tick, so a schedule is late only if each try fails.
      ...{ ...ONCE, name: `millrace-${stage}-schedules-late`, severity: 'page', datapoints: 3, periods: 5 },
      metrics: own('LateSchedules', 'Maximum', MINUTE),
      meaning: 'A tick of a schedule has been due for about 5 minutes, and the dispatcher does not enqueue its job.',
      ...{ command: 'npx millrace schedules', anchor: 'a-schedule-runs-late' },
    },
    {
      ...{ ...ONCE, name: `millrace-${stage}-dispatch-errors`, severity: 'page', datapoints: 3, periods: 3 },
      metrics: own('DispatchErrors', 'Sum', MINUTE),
      meaning: 'SQS refuses the messages of jobs.',
      ...{ command: 'npx millrace handlers', anchor: 'a-queue-is-missing' },
    },
    {
      ...{ ...ONCE, name: `millrace-${stage}-dead-letter-flood`, severity: 'page', threshold: FLOOD },
      metrics: own('DeadLettered', 'Sum', FIVE_MINUTES),
      meaning: `More than ${FLOOD} jobs died within 5 minutes.`,
      ...{ command: 'npx millrace dlq --since 1h', anchor: 'many-dead-letters' },
    },
  ];
}

function failureRate(stage: string, jobType: string): AlarmSpec {
  const counted = (metric: CloudWatchName) => ownMetric({ stage, jobType }, metric, 'Sum', TEN_MINUTES);
  return {
    ...{ ...ONCE, name: `millrace-${stage}-${jobType}-failing`, severity: 'ticket', threshold: FAILED_PERCENT },
    metrics: { failed: counted('Failed'), succeeded: counted('Succeeded') },
    expression:
      `IF(FILL(failed, 0) + FILL(succeeded, 0) >= ${FEWEST_ATTEMPTS}, ` +
      '100 * FILL(failed, 0) / (FILL(failed, 0) + FILL(succeeded, 0)), 0)',
    meaning: `More than ${FAILED_PERCENT} % of the attempts of ${jobType} failed within 10 minutes.`,
    ...{ command: `npx millrace jobs list --job-type ${jobType} --status failed`, anchor: 'where-to-begin' },
  };
}

function queueAlarms({ name, queueName, deadLetterQueueName, timeout }: AlarmedHandler): AlarmSpec[] {
  const visible = 'ApproximateNumberOfMessagesVisible';
  const hidden = 'ApproximateNumberOfMessagesNotVisible';
  // SQS excludes messages received three times or more. Other alarms cover messages that are received repeatedly, and
  // the age is useless for a dead-letter queue, which contains only such messages.
  const age = 'ApproximateAgeOfOldestMessage';
  return [
    {
      ...{ ...ONCE, name: `${deadLetterQueueName}-not-empty`, severity: 'ticket' },
      // The mirror hides messages for seconds while it reads them.
      metrics: { visible: queueMetric(deadLetterQueueName, visible), hidden: queueMetric(deadLetterQueueName, hidden) },
      expression: 'visible + hidden',
      meaning: `Jobs of ${name} are dead letters: they run again only after a redrive.`,
      ...{ command: `npx millrace dlq list --job-type ${name.split('.')[0]}`, anchor: 'many-dead-letters' },
    },
    {
      ...{ ...ONCE, name: `${queueName}-waiting`, severity: 'ticket', datapoints: 3, periods: 3 },
      ...{ metrics: { metric: queueMetric(queueName, age) }, threshold: Math.max(FIVE_MINUTES, 3 * timeout) },
      meaning: `Messages of ${name} wait in SQS: no function receives them.`,
      ...{ command: 'npx millrace doctor', anchor: 'jobs-wait-in-sqs' },
    },
  ];
}

function functionAlarms({ name, queueName, functionTimeout }: AlarmedHandler): AlarmSpec[] {
  const ticket = { ...ONCE, severity: 'ticket', command: 'npx millrace handlers', anchor: 'where-to-begin' } as const;
  const of = (metric: string, statistic: string) => ({
    metric: functionMetric(queueName, metric, statistic, FIVE_MINUTES),
  });
  return [
    {
      ...{ ...ticket, name: `${queueName}-errors`, metrics: of('Errors', 'Sum'), anchor: 'a-job-is-stuck-running' },
      meaning: `The function of ${name} crashed: out of memory or timed out. Failed attempts are not counted here.`,
    },
    {
      ...{ ...ticket, name: `${queueName}-throttled`, metrics: of('Throttles', 'Sum'), anchor: 'jobs-wait-in-sqs' },
      ...{ comparison: '>=', threshold: THROTTLED },
      meaning: `Lambda throttles the function of ${name}: the account has reached its concurrency limit.`,
    },
    {
      ...{ ...ticket, name: `${queueName}-slow`, metrics: of('Duration', 'p99') },
      threshold: NEARLY * functionTimeout * 1000,
      meaning: `The function of ${name} almost reaches its timeout of ${functionTimeout} s.`,
    },
    {
      ...{ ...ticket, name: `${queueName}-recursive`, metrics: of('RecursiveInvocationsDropped', 'Sum') },
      meaning: `Lambda stopped a loop: ${name} sends messages to a queue that invokes it again. Enqueue with SQL instead.`,
    },
  ];
}

function schedulerMetric(stage: string, name: string): MetricSpec {
  const dimensions = { ScheduleGroup: scheduleGroupName(stage) };
  return { namespace: 'AWS/Scheduler', name, dimensions, statistic: 'Sum', periodSeconds: FIVE_MINUTES };
}

import { functionName, scheduleGroupName } from '../../core/handler/naming.ts';
import type { CloudWatchName } from '../../core/numbers/metric-table.ts';
import { type AlarmSpec, functionMetric, type MetricSpec, ownMetric, queueMetric } from './alarm.ts';

/** What the alarms ask of a handler; times in seconds. */
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
/** The dispatcher works for 125 s and is killed after 150. */
const DISPATCHER_SLOW_MS = 140_000;
const OLDEST_DUE_SECONDS = 300;
const FLOOD = 100;
const THROTTLED = 5;
const FAILED_PERCENT = 20;
const FEWEST_ATTEMPTS = 50;
const NEARLY = 0.8;

const ONCE = { datapoints: 1, periods: 1, comparison: '>', threshold: 0, missing: 'notBreaching' } as const;

/** Every alarm of a stage; without numbers by job type nothing tells which of them fails often. */
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
      meaning: 'The dispatcher was not invoked for 5 minutes: no job is sent.',
    },
    {
      ...{ ...page, ...ONCE, name: `${name}-errors`, metrics: of('Errors', 'Sum', MINUTE), datapoints: 2, periods: 3 },
      meaning: 'Runs of the dispatcher fail: jobs may be late.',
    },
    {
      ...{ ...page, ...ONCE, name: `${name}-slow`, metrics: of('Duration', 'Maximum', FIVE_MINUTES) },
      ...{ severity: 'ticket', threshold: DISPATCHER_SLOW_MS },
      meaning: 'A run of the dispatcher nearly came to its timeout.',
    },
    {
      ...{ ...page, ...ONCE, name: `${name}-throttled`, metrics: of('Throttles', 'Sum', FIVE_MINUTES) },
      ...{ severity: 'ticket', comparison: '>=', threshold: THROTTLED },
      meaning: 'The dispatcher is throttled: the account is out of concurrency.',
    },
    {
      ...{ ...page, ...ONCE, name: `millrace-${stage}-schedule-errors`, severity: 'ticket' },
      metrics: { failed: scheduler('TargetErrorCount'), dropped: scheduler('InvocationDroppedCount') },
      expression: 'FILL(failed, 0) + FILL(dropped, 0)',
      meaning: 'EventBridge Scheduler cannot invoke what it should, in the group of schedules of this stage.',
    },
    {
      ...{ ...page, ...ONCE, name: `${functionName(stage, 'dlq-mirror')}-errors`, severity: 'ticket' },
      ...{
        metrics: { metric: functionMetric(functionName(stage, 'dlq-mirror'), 'Errors', 'Sum', MINUTE) },
        datapoints: 3,
        periods: 5,
      },
      meaning: 'The mirror fails: what is in the dead-letter queues is not noted.',
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
      meaning: 'A due job has waited for over 5 minutes, or nothing tells how long: the dispatcher is dead.',
      ...{ command: 'npx millrace stats', anchor: 'jobs-are-late' },
    },
    {
      ...{ ...ONCE, name: `millrace-${stage}-dispatch-errors`, severity: 'page', datapoints: 3, periods: 3 },
      metrics: own('DispatchErrors', 'Sum', MINUTE),
      meaning: 'SQS does not take the messages of jobs.',
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
    ...{ command: `npx millrace jobs list --job-type ${jobType} --status failed --since 1h`, anchor: 'where-to-begin' },
  };
}

function queueAlarms({ name, queueName, deadLetterQueueName, timeout }: AlarmedHandler): AlarmSpec[] {
  const visible = 'ApproximateNumberOfMessagesVisible';
  const hidden = 'ApproximateNumberOfMessagesNotVisible';
  // It leaves out what was received three times and more: messages that keep coming back are told by other alarms, and
  // an age of a dead-letter queue, where all came so often, would tell nothing.
  const age = 'ApproximateAgeOfOldestMessage';
  return [
    {
      ...{ ...ONCE, name: `${deadLetterQueueName}-not-empty`, severity: 'ticket' },
      // The mirror hides them for seconds while it looks.
      metrics: { visible: queueMetric(deadLetterQueueName, visible), hidden: queueMetric(deadLetterQueueName, hidden) },
      expression: 'visible + hidden',
      meaning: `Jobs of ${name} are dead: nobody tries them again by itself.`,
      ...{ command: `npx millrace dlq list --job-type ${name.split('.')[0]}`, anchor: 'many-dead-letters' },
    },
    {
      ...{ ...ONCE, name: `${queueName}-waiting`, severity: 'ticket', datapoints: 3, periods: 3 },
      ...{ metrics: { metric: queueMetric(queueName, age) }, threshold: Math.max(FIVE_MINUTES, 3 * timeout) },
      meaning: `Messages of ${name} lie in SQS: no function takes them.`,
      ...{ command: 'npx millrace doctor', anchor: 'jobs-lie-in-sqs' },
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
      meaning: `The function of ${name} died: out of memory, or over its timeout. Failed attempts are not counted here.`,
    },
    {
      ...{ ...ticket, name: `${queueName}-throttled`, metrics: of('Throttles', 'Sum'), anchor: 'jobs-lie-in-sqs' },
      ...{ comparison: '>=', threshold: THROTTLED },
      meaning: `The function of ${name} is throttled: the account is out of concurrency.`,
    },
    {
      ...{ ...ticket, name: `${queueName}-slow`, metrics: of('Duration', 'p99') },
      threshold: NEARLY * functionTimeout * 1000,
      meaning: `The function of ${name} nearly comes to its timeout of ${functionTimeout} s.`,
    },
    {
      ...{ ...ticket, name: `${queueName}-recursive`, metrics: of('RecursiveInvocationsDropped', 'Sum') },
      meaning: `Lambda stopped a loop: ${name} sends to a queue that leads back to itself. Enqueue by SQL instead.`,
    },
  ];
}

function schedulerMetric(stage: string, name: string): MetricSpec {
  const dimensions = { ScheduleGroup: scheduleGroupName(stage) };
  return { namespace: 'AWS/Scheduler', name, dimensions, statistic: 'Sum', periodSeconds: FIVE_MINUTES };
}

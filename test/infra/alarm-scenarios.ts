import type { Truth } from './alarm-world.ts';

/** Something that goes wrong, and what an operator learns of it. Times are in minutes. */
export interface Scenario {
  /** As in the table of docs/operations.md. */
  readonly fault: string;
  /** The alarm that notifies, without `millrace-<stage>-`. */
  readonly alarm: string;
  readonly severity: 'page' | 'ticket';
  readonly within: number;
  /** Further alarms that go to ALARM: of severity page without a second notification, by the composite alarm. */
  readonly also?: readonly string[];
  /** The time after which the fault is repaired, and the longest time until the alarm closes. */
  readonly lasts: number;
  readonly closesWithin: number;
  /** What is true while the fault lasts, by minutes since its begin. */
  readonly truth: (minute: number) => Truth;
}

const STEADY: Truth = { enqueued: 1 };
const INVOKED = { 'Errors millrace-dev-dispatcher': 1 };

/** A handler that gets a job a minute, and whose function receives none. */
const unmapped = (timeout: number): Scenario => ({
  fault: 'the mapping of a handler is disabled, or its function is throttled or cannot start',
  ...{ alarm: 'handlers-stalled', severity: 'page' },
  // A message is late after 5 minutes, after what ran before has ended; then three datapoints.
  within: 5 + Math.ceil(timeout / 60) + 5,
  ...{ lasts: 40, closesWithin: 10 + Math.ceil(timeout / 60) },
  truth: () => ({ ...STEADY, unmapped: `work_${timeout}` }),
});

export const SCENARIOS: readonly Scenario[] = [
  {
    fault: 'the dispatcher is not invoked',
    ...{ alarm: 'dispatcher-silent', severity: 'page', within: 6, lasts: 20, closesWithin: 2 },
    truth: () => ({ ...STEADY, dispatcherRuns: false }),
  },
  {
    fault: 'no function can reach the database',
    ...{ alarm: 'dispatcher-errors', severity: 'page', within: 3, lasts: 20, closesWithin: 5 },
    also: ['dispatcher-silent', 'dlq-mirror-errors'],
    truth: () => ({
      ...{ ...STEADY, databaseAnswers: false },
      published: { ...INVOKED, 'Errors millrace-dev-dlq-mirror': 1 },
    }),
  },
  ...[1, 30, 880].map(unmapped),
  {
    fault: 'a queue is missing, or SQS refuses messages',
    ...{ alarm: 'dispatch-errors', severity: 'page', within: 6, lasts: 20, closesWithin: 10 },
    also: ['handlers-stalled'],
    truth: () => ({ ...STEADY, verdict: 'no_queue' }),
  },
  {
    fault: 'the dispatcher does not enqueue the jobs of a schedule',
    ...{ alarm: 'schedules-late', severity: 'page', within: 4, lasts: 20, closesWithin: 5 },
    truth: () => ({ published: { LateSchedules: 1 } }),
  },
  {
    fault: 'more than 100 jobs die within 5 minutes',
    ...{ alarm: 'dead-letter-flood', severity: 'page', within: 6, lasts: 10, closesWithin: 6 },
    also: ['dead-letters'],
    truth: () => ({ ...STEADY, events: { dead_lettered: 30 }, published: { DeadLetterMessages: 150 } }),
  },
  {
    fault: 'a job is dead',
    ...{ alarm: 'dead-letters', severity: 'ticket', within: 1, lasts: 30, closesWithin: 6 },
    truth: () => ({ published: { DeadLetterMessages: 1 } }),
  },
  {
    fault: 'every attempt of a rare job type fails',
    ...{ alarm: 'job-types-failing', severity: 'ticket', within: 8, lasts: 20, closesWithin: 70 },
    // As with the default retry policy, after 1 and 5 minutes.
    truth: (minute) => (minute === 0 || minute === 1 || minute === 6 ? { ...STEADY, rareFailures: 1 } : STEADY),
  },
  {
    fault: 'many attempts of a job type fail',
    ...{ alarm: 'job-types-failing', severity: 'ticket', within: 6, lasts: 20, closesWithin: 16 },
    truth: () => ({ ...STEADY, events: { failed: 10, succeeded: 20 } }),
  },
  {
    fault: 'processes of a function end without an outcome',
    ...{ alarm: 'attempts-lost', severity: 'ticket', within: 3, lasts: 20, closesWithin: 8 },
    truth: () => ({ ...STEADY, crashing: 'work_5' }),
  },
  {
    fault: 'the mirror fails',
    ...{ alarm: 'dlq-mirror-errors', severity: 'ticket', within: 3, lasts: 20, closesWithin: 5 },
    truth: () => ({ published: { 'Errors millrace-dev-dlq-mirror': 1 } }),
  },
  {
    fault: 'EventBridge Scheduler cannot invoke a function',
    ...{ alarm: 'schedule-errors', severity: 'ticket', within: 1, lasts: 20, closesWithin: 6 },
    truth: () => ({ published: { 'TargetErrorCount millrace-dev': 1 } }),
  },
  {
    fault: 'Lambda throttles the dispatcher',
    ...{ alarm: 'dispatcher-throttled', severity: 'ticket', within: 5, lasts: 20, closesWithin: 6 },
    truth: () => ({ published: { 'Throttles millrace-dev-dispatcher': 1 } }),
  },
  {
    fault: 'a run of the dispatcher takes almost 150 s',
    ...{ alarm: 'dispatcher-slow', severity: 'ticket', within: 1, lasts: 20, closesWithin: 6 },
    truth: () => ({ published: { 'Duration millrace-dev-dispatcher': 145_000 } }),
  },
  {
    fault: 'requests of the API fail',
    ...{ alarm: 'api-5xx', severity: 'ticket', within: 10, lasts: 20, closesWithin: 11 },
    truth: () => ({ published: { '5xx api': 2 } }),
  },
  {
    fault: 'the connections of a new database run out',
    ...{ alarm: 'database-connections', severity: 'ticket', within: 6, lasts: 20, closesWithin: 11 },
    truth: () => ({ published: { 'DatabaseConnections cluster': 1500 } }),
  },
  {
    fault: 'a new database is at its largest capacity',
    ...{ alarm: 'database-busy', severity: 'ticket', within: 11, lasts: 30, closesWithin: 6 },
    truth: () => ({ published: { 'ACUUtilization cluster': 99 } }),
  },
  {
    fault: 'a new database stores more than 100 GiB',
    ...{ alarm: 'database-storage', severity: 'ticket', within: 1, lasts: 20, closesWithin: 61 },
    truth: () => ({ published: { 'VolumeBytesUsed cluster': 2e11 } }),
  },
  {
    fault: 'the connections of a small database run out',
    ...{ alarm: 'instance-connections', severity: 'ticket', within: 6, lasts: 20, closesWithin: 11 },
    truth: () => ({ published: { 'DatabaseConnections instance': 75 } }),
  },
  {
    fault: 'the processor of a small database is busy',
    ...{ alarm: 'instance-busy', severity: 'ticket', within: 11, lasts: 30, closesWithin: 6 },
    truth: () => ({ published: { 'CPUUtilization instance': 99 } }),
  },
  {
    fault: 'a small database has less than 1 GiB of free storage',
    ...{ alarm: 'instance-storage', severity: 'ticket', within: 1, lasts: 20, closesWithin: 6 },
    truth: () => ({ published: { 'FreeStorageSpace instance': 5e8 } }),
  },
  {
    fault: 'a function that rotates a secret fails or times out',
    ...{ alarm: 'rotation-errors', severity: 'ticket', within: 1, lasts: 5, closesWithin: 61 },
    // Secrets Manager invokes it again minutes later.
    truth: (minute) => ({ published: { 'Errors millrace-dev-rotate-app-secret': minute % 2 === 0 ? 1 : 0 } }),
  },
];

/** A stage without a fault. */
export const SOUND: readonly (readonly [name: string, truth: (minute: number) => Truth])[] = [
  ['a stage without jobs', () => ({})],
  ['a steady load', () => STEADY],
  ['a backlog of every handler', (minute) => ({ enqueued: minute === 0 ? 400 : 1 })],
  ['a dispatcher whose runs are 2 minutes apart', (minute) => ({ ...STEADY, dispatcherRuns: minute % 2 === 0 })],
  ['some failures of a busy job type', () => ({ ...STEADY, events: { failed: 3, succeeded: 40 } })],
];

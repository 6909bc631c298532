import { functionName } from '../../core/handler/naming.ts';
import { CLOUDWATCH_NAMESPACE, type CloudWatchName, serviceOf } from '../../core/numbers/metric-table.ts';
import { functionMetric, type MetricSpec, ownMetric, queueMetric } from './alarm.ts';
import type { AlarmedHandler } from './alarms.ts';

/** One graph, with its lines by label. */
export interface GraphSpec {
  readonly title: string;
  /** `numbers` shows the latest value of each line. */
  readonly shows: 'lines' | 'stacked' | 'numbers';
  readonly lines: Readonly<Record<string, MetricSpec>>;
  /** A CloudWatch search that yields one line per job type, instead of `lines`. */
  readonly search?: string;
}

const MINUTE = 60;

/** Returns the graphs of a stage's dashboard, row by row, the most urgent first. */
export function dashboardOf(handlers: readonly AlarmedHandler[], stage: string): GraphSpec[][] {
  const own = (name: CloudWatchName, statistic: string) => ownMetric({ stage }, name, statistic, MINUTE);
  return [
    [
      graph('Now', 'numbers', {
        'due jobs': own('DueJobs', 'Maximum'),
        'oldest due job, s': own('OldestDueAge', 'Maximum'),
        'messages in dead-letter queues': own('DeadLetterMessages', 'Sum'),
      }),
      graph('Oldest due job, s', 'lines', { 'oldest due job': own('OldestDueAge', 'Maximum') }),
    ],
    [
      graph('Attempts per minute', 'stacked', {
        succeeded: own('Succeeded', 'Sum'),
        retried: own('Retried', 'Sum'),
        'dead letters': own('DeadLettered', 'Sum'),
      }),
      byType('Failed attempts by job type', stage, 'Failed', 'Sum'),
    ],
    [
      graph('Time from due to start, ms', 'lines', { p50: own('WaitTime', 'p50'), p95: own('WaitTime', 'p95') }),
      byType('Duration of attempts by job type, p95, ms', stage, 'Duration', 'p95'),
    ],
    ...infrastructure(handlers, stage),
  ];
}

/** Returns the graphs of the dispatcher, the queues and the functions. */
function infrastructure(handlers: readonly AlarmedHandler[], stage: string): GraphSpec[][] {
  const dispatcher = (name: string) => functionMetric(functionName(stage, 'dispatcher'), name, 'Sum', MINUTE);
  const visible = 'ApproximateNumberOfMessagesVisible';
  return [
    [
      graph('Dispatcher', 'lines', {
        runs: dispatcher('Invocations'),
        errors: dispatcher('Errors'),
        throttles: dispatcher('Throttles'),
        'refused by SQS': ownMetric({ stage }, 'DispatchErrors', 'Sum', MINUTE),
      }),
      perHandler('Messages in SQS', handlers, ({ queueName }) => queueMetric(queueName, visible)),
      perHandler('Messages in dead-letter queues', handlers, ({ deadLetterQueueName }) =>
        queueMetric(deadLetterQueueName, visible),
      ),
    ],
    lambdaGraphs(handlers, [
      ['Concurrent executions', 'ConcurrentExecutions', 'Maximum'],
      ['Function errors', 'Errors', 'Sum'],
      ['Function throttles', 'Throttles', 'Sum'],
    ]),
  ];
}

/** Query of CloudWatch Logs Insights for the latest failed attempts. */
export const LATEST_FAILURES =
  "filter event in ['job_failed', 'job_dead_letter'] | sort @timestamp desc | limit 20 | " +
  'fields @timestamp, event, job_type, job_id, attempt, message';

function lambdaGraphs(
  handlers: readonly AlarmedHandler[],
  graphs: readonly (readonly [title: string, metric: string, statistic: string])[],
): GraphSpec[] {
  return graphs.map(([title, metric, statistic]) =>
    perHandler(title, handlers, ({ queueName }) => functionMetric(queueName, metric, statistic, MINUTE)),
  );
}

function graph(title: string, shows: GraphSpec['shows'], lines: GraphSpec['lines']): GraphSpec {
  return { title, shows, lines };
}

function perHandler(
  title: string,
  handlers: readonly AlarmedHandler[],
  metricOf: (handler: AlarmedHandler) => MetricSpec,
): GraphSpec {
  return graph(title, 'lines', Object.fromEntries(handlers.map((handler) => [handler.name, metricOf(handler)])));
}

function byType(title: string, stage: string, metric: CloudWatchName, statistic: string): GraphSpec {
  const schema = `{${CLOUDWATCH_NAMESPACE},service,job_type}`;
  const terms = `MetricName="${metric}" service="${serviceOf(stage)}"`;
  return { title, shows: 'lines', lines: {}, search: `SEARCH('${schema} ${terms}', '${statistic}', ${MINUTE})` };
}

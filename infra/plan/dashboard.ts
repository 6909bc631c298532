import { functionName } from '../../core/handler/naming.ts';
import { CLOUDWATCH_NAMESPACE, type CloudWatchName, serviceOf } from '../../core/numbers/metric-table.ts';
import { functionMetric, type MetricSpec, ownMetric } from './alarm.ts';

/** One graph, with its lines by label. */
export interface GraphSpec {
  readonly title: string;
  /** `numbers` shows the latest value of each line. */
  readonly shows: 'lines' | 'stacked' | 'numbers';
  readonly lines: Readonly<Record<string, MetricSpec>>;
  /** A CloudWatch search that yields one line per job type or handler, up to 100, instead of `lines`. */
  readonly search?: string;
}

const MINUTE = 60;

/** Returns the graphs of a stage's dashboard, row by row, the most urgent first. */
export function dashboardOf(stage: string): GraphSpec[][] {
  const own = (name: CloudWatchName, statistic: string) => ownMetric(stage, name, statistic, MINUTE);
  return [
    [
      graph('Now', 'numbers', {
        'due jobs': own('DueJobs', 'Maximum'),
        'oldest due job, s': own('OldestDueAge', 'Maximum'),
        'stalled handlers': own('StalledHandlers', 'Maximum'),
        'failing job types': own('FailingJobTypes', 'Maximum'),
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
    ...infrastructure(stage),
  ];
}

/** Returns the graphs of the dispatcher, the queues and the functions. */
function infrastructure(stage: string): GraphSpec[][] {
  const dispatcher = (name: string) => functionMetric(functionName(stage, 'dispatcher'), name, 'Sum', MINUTE);
  const queues = (title: string, which: string) =>
    searched(title, `{AWS/SQS,QueueName} ${visible} QueueName=(millrace AND ${stage}) ${which}`, 'Maximum');
  const functions = (title: string, metric: string, statistic: string) =>
    searched(title, `{AWS/Lambda,FunctionName} MetricName="${metric}" FunctionName=(millrace AND ${stage})`, statistic);
  const visible = 'MetricName="ApproximateNumberOfMessagesVisible"';
  return [
    [
      graph('Dispatcher', 'lines', {
        runs: dispatcher('Invocations'),
        errors: dispatcher('Errors'),
        throttles: dispatcher('Throttles'),
        'refused by SQS': ownMetric(stage, 'DispatchErrors', 'Sum', MINUTE),
      }),
      queues('Messages in SQS', 'NOT QueueName=dlq'),
      queues('Messages in dead-letter queues', 'QueueName=dlq'),
    ],
    [
      functions('Concurrent executions', 'ConcurrentExecutions', 'Maximum'),
      functions('Function errors', 'Errors', 'Sum'),
      functions('Function throttles', 'Throttles', 'Sum'),
    ],
  ];
}

/** Query of CloudWatch Logs Insights for the latest failed attempts. */
export const LATEST_FAILURES =
  "filter event in ['job_failed', 'job_dead_letter'] | sort @timestamp desc | limit 20 | " +
  'fields @timestamp, event, job_type, job_id, attempt, message';

function graph(title: string, shows: GraphSpec['shows'], lines: GraphSpec['lines']): GraphSpec {
  return { title, shows, lines };
}

function byType(title: string, stage: string, metric: CloudWatchName, statistic: string): GraphSpec {
  const schema = `{${CLOUDWATCH_NAMESPACE},service,job_type}`;
  return searched(title, `${schema} MetricName="${metric}" service="${serviceOf(stage)}"`, statistic);
}

function searched(title: string, terms: string, statistic: string): GraphSpec {
  return { title, shows: 'lines', lines: {}, search: `SEARCH('${terms}', '${statistic}', ${MINUTE})` };
}

import { functionName, scheduleGroupName } from '../../core/handler/naming.ts';
import { type AlarmSpec, functionMetric, type MetricSpec, MOSTLY, ONCE } from './alarm.ts';
import { NEW_DATABASE_CONNECTIONS } from './capacity.ts';

const MINUTE = 60;
const FIVE_MINUTES = 300;
const HOUR = 3600;
const FAILED_REQUESTS = 5;
const NEARLY = 0.8;
const BUSY_PERCENT = 90;
const STORED_BYTES = 100 * 1024 ** 3;

/** Returns the alarms on what invokes the functions of a stage, and on the mirror. */
export function platformAlarms(stage: string): AlarmSpec[] {
  const ticket = { severity: 'ticket', command: 'npx millrace doctor', anchor: 'nothing-runs' } as const;
  const mirror = functionName(stage, 'dlq-mirror');
  return [
    {
      ...{ ...ticket, ...ONCE, name: `millrace-${stage}-schedule-errors` },
      metrics: {
        failed: schedulerMetric(stage, 'TargetErrorCount'),
        dropped: schedulerMetric(stage, 'InvocationDroppedCount'),
      },
      expression: 'FILL(failed, 0) + FILL(dropped, 0)',
      meaning: 'EventBridge Scheduler cannot invoke the dispatcher or the mirror of this stage.',
    },
    {
      ...{ ...ticket, ...MOSTLY, name: `${mirror}-errors` },
      metrics: { metric: functionMetric(mirror, 'Errors', 'Sum', MINUTE) },
      meaning: 'The mirror fails: the contents of the dead-letter queues are not recorded.',
    },
  ];
}

function schedulerMetric(stage: string, name: string): MetricSpec {
  const dimensions = { ScheduleGroup: scheduleGroupName(stage) };
  return { namespace: 'AWS/Scheduler', name, dimensions, statistic: 'Sum', periodSeconds: FIVE_MINUTES };
}

/** Returns the alarm on the HTTP API with this id. */
export function apiAlarm(stage: string, ApiId: string): AlarmSpec {
  return {
    ...{ ...ONCE, name: `millrace-${stage}-api-5xx`, severity: 'ticket', datapoints: 2, periods: 3 },
    ...{ comparison: '>=', threshold: FAILED_REQUESTS },
    metrics: {
      metric: {
        ...{ namespace: 'AWS/ApiGateway', name: '5xx', dimensions: { ApiId } },
        ...{ statistic: 'Sum', periodSeconds: FIVE_MINUTES },
      },
    },
    meaning: 'Requests of the API fail.',
    ...{ command: 'npx millrace doctor', anchor: 'where-to-begin' },
  };
}

/** Returns the alarms on a database that the stage created. */
export function databaseAlarms(stage: string, DBClusterIdentifier: string): AlarmSpec[] {
  const ticket = {
    ...ONCE,
    severity: 'ticket',
    command: 'npx millrace stats',
    anchor: 'the-database-grows-or-counting-lags',
  } as const;
  const of = (name: string, periodSeconds: number) => ({
    metrics: {
      metric: {
        ...{ namespace: 'AWS/RDS', name, dimensions: { DBClusterIdentifier } },
        ...{ statistic: 'Maximum', periodSeconds },
      },
    },
  });
  return [
    {
      ...{ ...ticket, name: `millrace-${stage}-database-connections`, ...of('DatabaseConnections', FIVE_MINUTES) },
      ...{ threshold: Math.floor(NEARLY * NEW_DATABASE_CONNECTIONS), datapoints: 2, periods: 3 },
      meaning: `The database uses more than 80 % of its ${NEW_DATABASE_CONNECTIONS} connections.`,
    },
    {
      ...{ ...ticket, name: `millrace-${stage}-database-busy`, ...of('ACUUtilization', FIVE_MINUTES) },
      ...{ threshold: BUSY_PERCENT, datapoints: 3, periods: 3 },
      meaning: 'The database has been close to its largest capacity for 15 minutes.',
    },
    {
      ...{ ...ticket, name: `millrace-${stage}-database-storage`, ...of('VolumeBytesUsed', HOUR) },
      threshold: STORED_BYTES,
      meaning: 'The database stores more than 100 GiB. It does not fill up, but AWS charges for it.',
    },
  ];
}

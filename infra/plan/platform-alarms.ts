import { functionName, scheduleGroupName } from '../../core/handler/naming.ts';
import { type AlarmSpec, functionMetric, type MetricSpec, MOSTLY, ONCE } from './alarm.ts';

const MINUTE = 60;
const FIVE_MINUTES = 300;
const FAILED_REQUESTS = 5;

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

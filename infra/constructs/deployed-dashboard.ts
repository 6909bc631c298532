import { Duration } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  LogQueryWidget,
  MathExpression,
  SingleValueWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { type GraphSpec, LATEST_FAILURES } from '../plan/dashboard.ts';
import { plainMetric } from './deployed-alarms.ts';

export interface DeployedDashboardProps {
  readonly stage: string;
  readonly rows: readonly (readonly GraphSpec[])[];
  readonly alarms: readonly Alarm[];
  /** Log groups of the handlers. */
  readonly logGroupNames: readonly string[];
}

/** Columns of a CloudWatch dashboard. */
const WIDTH = 24;
const HEIGHT = 6;
/** CloudWatch's limit for one widget; the alarms of the whole stage come first. */
const MOST_ALARMS = 100;
/** CloudWatch's limit for one query. */
const MOST_LOG_GROUPS = 50;

/** The CloudWatch dashboard of a stage: $3 a month, after the first three of an account. */
export class DeployedDashboard extends Construct {
  constructor(scope: Construct, id: string, { stage, rows, alarms, logGroupNames }: DeployedDashboardProps) {
    super(scope, id);
    new Dashboard(this, 'Dashboard', {
      dashboardName: `millrace-${stage}`,
      defaultInterval: Duration.hours(3),
      widgets: [
        ...(alarms.length === 0 ? [] : [[statusOf(alarms)]]),
        ...rows.map((row) => row.map((graph) => makeWidget(graph, Math.floor(WIDTH / row.length)))),
        ...(logGroupNames.length === 0 ? [] : [[failuresIn(logGroupNames)]]),
      ],
    });
  }
}

function statusOf(alarms: readonly Alarm[]): IWidget {
  return new AlarmStatusWidget({ title: 'Alarms', alarms: alarms.slice(0, MOST_ALARMS), width: WIDTH });
}

function makeWidget({ title, shows, lines, search }: GraphSpec, width: number): IWidget {
  const metrics: IMetric[] = Object.entries(lines).map(([label, spec]) => plainMetric(spec).with({ label }));
  if (search !== undefined) metrics.push(new MathExpression({ expression: search, usingMetrics: {}, label: '' }));
  const size = { title, width, height: HEIGHT };
  if (shows === 'numbers') return new SingleValueWidget({ ...size, metrics });
  return new GraphWidget({ ...size, left: metrics, stacked: shows === 'stacked' });
}

function failuresIn(logGroupNames: readonly string[]): IWidget {
  return new LogQueryWidget({
    title: 'Latest failures',
    logGroupNames: logGroupNames.slice(0, MOST_LOG_GROUPS),
    queryString: LATEST_FAILURES,
    width: WIDTH,
    height: HEIGHT,
  });
}

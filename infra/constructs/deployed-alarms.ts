import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  AlarmRule,
  ComparisonOperator,
  CompositeAlarm,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct, type IDependable } from 'constructs';
import { type AlarmSpec, alarmText, type MetricSpec } from '../plan/alarm.ts';
import type { AlarmTarget } from '../settings/monitoring-settings.ts';
import { AlarmWebhook } from './alarm-webhook.ts';

export interface DeployedAlarmsProps {
  readonly stage: string;
  readonly specs: readonly AlarmSpec[];
  readonly target: AlarmTarget;
  /** What must be deployed first, so that a new stage does not page anybody before its first round. */
  readonly after?: IDependable;
  /** What encrypts a new topic; undefined for none. */
  readonly key?: IKey | undefined;
}

const COMPARISONS = {
  '>': ComparisonOperator.GREATER_THAN_THRESHOLD,
  '>=': ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  '<': ComparisonOperator.LESS_THAN_THRESHOLD,
} as const;
const MISSING = { breaching: TreatMissingData.BREACHING, notBreaching: TreatMissingData.NOT_BREACHING } as const;

/** The alarms of a stage, and a composite alarm over those of severity `page`. Prices in `infra/plan/prices.ts`. */
export class DeployedAlarms extends Construct {
  readonly alarms: readonly Alarm[];
  readonly unhealthy: CompositeAlarm;
  readonly topic: ITopic | undefined;

  constructor(scope: Construct, id: string, { stage, specs, target, after, key }: DeployedAlarmsProps) {
    super(scope, id);
    if (after !== undefined) this.node.addDependency(after);
    this.topic = this.makeTopic(target, key);
    this.alarms = specs.map((spec) => makeAlarm(this, spec));
    const paging = this.alarms.filter((_alarm, index) => specs[index]?.severity === 'page');
    this.unhealthy = new CompositeAlarm(this, 'Unhealthy', {
      compositeAlarmName: unhealthyName(stage),
      alarmDescription: 'Jobs are late, not dispatched or dying. Run: npx millrace doctor - see docs/operations.md',
      alarmRule: AlarmRule.anyOf(...paging),
    });
    if (target.webhook !== undefined) this.post(target.webhook, stage, specs);
    if (this.topic === undefined) return;
    const notify = new SnsAction(this.topic);
    this.unhealthy.addAlarmAction(notify);
    this.unhealthy.addOkAction(notify);
    // The composite alarm notifies for alarms of severity `page`.
    for (const alarm of this.alarms.filter((one) => !paging.includes(one))) {
      alarm.addAlarmAction(notify);
      alarm.addOkAction(notify);
    }
  }

  private post(url: string, stage: string, specs: readonly AlarmSpec[]): void {
    const tickets = specs.filter(({ severity }) => severity === 'ticket').map(({ name }) => name);
    new AlarmWebhook(this, 'Webhook', { stage, url, alarmNames: [unhealthyName(stage), ...tickets] });
  }

  private makeTopic({ topicArn, email }: AlarmTarget, key: IKey | undefined): ITopic | undefined {
    if (topicArn !== undefined) return Topic.fromTopicArn(this, 'Topic', topicArn);
    if (email === undefined) return undefined;
    const topic = new Topic(this, 'Topic', { enforceSSL: true, ...(key && { masterKey: key }) });
    // `enforceSSL` adds a policy, which replaces the default one that allows alarms of the account to publish.
    topic.grantPublish(
      new ServicePrincipal('cloudwatch.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    topic.addSubscription(new EmailSubscription(email));
    return topic;
  }
}

function unhealthyName(stage: string): string {
  return `millrace-${stage}-unhealthy`;
}

function makeAlarm(scope: Construct, spec: AlarmSpec): Alarm {
  return new Alarm(scope, spec.name, {
    alarmName: spec.name,
    alarmDescription: alarmText(spec),
    metric: makeMetric(spec),
    comparisonOperator: COMPARISONS[spec.comparison],
    threshold: spec.threshold,
    datapointsToAlarm: spec.datapoints,
    evaluationPeriods: spec.periods,
    treatMissingData: MISSING[spec.missing],
  });
}

/** Returns a metric, or an expression over several metrics of the same period. */
function makeMetric({ metrics, expression }: Pick<AlarmSpec, 'metrics' | 'expression'>): IMetric {
  const made = Object.entries(metrics).map(([name, spec]) => [name, plainMetric(spec)] as const);
  const [[, first] = []] = made;
  if (first === undefined) throw new Error('an alarm requires at least one metric');
  if (expression === undefined) return first;
  return new MathExpression({ expression, usingMetrics: Object.fromEntries(made), period: first.period });
}

export function plainMetric({ namespace, name, dimensions, statistic, periodSeconds }: MetricSpec): Metric {
  const period = Duration.seconds(periodSeconds);
  return new Metric({ namespace, metricName: name, dimensionsMap: { ...dimensions }, statistic, period });
}

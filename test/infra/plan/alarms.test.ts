import { App, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { LOG_EVENTS } from '../../../core/log-table.ts';
import { CLOUDWATCH_METRICS, CLOUDWATCH_NAMESPACE } from '../../../core/numbers/metric-table.ts';
import { DeployedAlarms } from '../../../infra/constructs/deployed-alarms.ts';
import { DeployedDashboard } from '../../../infra/constructs/deployed-dashboard.ts';
import { type AlarmSpec, alarmText } from '../../../infra/plan/alarm.ts';
import { alarmsOf } from '../../../infra/plan/alarms.ts';
import { dashboardOf, LATEST_FAILURES } from '../../../infra/plan/dashboard.ts';
import type { AlarmTarget } from '../../../infra/settings/monitoring-settings.ts';
import { readDocument, tableBelow } from '../../docs/documents.ts';
import { SCENARIOS } from '../alarm-scenarios.ts';

const alarms = alarmsOf({
  stage: 'dev',
  apiId: 'api',
  clusterId: 'cluster',
  instanceId: 'instance',
  rotated: ['owner', 'runtime', 'app'],
});
const named = (name: string) => alarms.find((alarm) => alarm.name === name) as AlarmSpec;

/** The anchors that GitHub generates from the headings of the page. */
const anchors = [...readDocument('docs/operations.md').text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-'),
);

describe('the alarms', () => {
  it('use no metric by job type, whose number would depend on the handlers', () => {
    const dimensions = alarms.flatMap(({ metrics }) => Object.values(metrics).map((metric) => metric.dimensions));

    expect(dimensions.filter((dimension) => 'job_type' in dimension)).toEqual([]);
  });

  it('are in the table of docs/operations.md as test/infra/alarms.story.ts proves them', () => {
    const rows = tableBelow(readDocument('docs/operations.md'), 'Alarms on AWS');

    const proven = Map.groupBy(SCENARIOS, ({ fault }) => fault).values();
    expect(rows).toEqual(
      [...proven].map(([one]) => [
        ...[one?.fault, `\`${one?.alarm}\``, one?.severity, `${one?.within} min`, `${one?.closesWithin} min`],
      ]),
    );
  });

  it('have unique names', () => {
    expect(new Set(alarms.map(({ name }) => name)).size).toBe(alarms.length);
    expect(alarms.length).toBeGreaterThan(15);
  });

  it.each(alarms)('$name has a command to run and a link to operations.md', (alarm) => {
    const text = alarmText(alarm);

    expect(anchors).toContain(alarm.anchor);
    expect(text).toContain(`Run: npx millrace `);
    expect(text).toContain(`docs/operations.md#${alarm.anchor}`);
    // CloudWatch's limit.
    expect(text.length).toBeLessThan(1024);
    expect(alarm.datapoints).toBeLessThanOrEqual(alarm.periods);
  });

  it.each(alarms)('$name lists jobs whenever they were created: a job can fail hours later', ({ command }) => {
    expect(command).not.toMatch(/jobs list .*--since/);
  });

  it.each(alarms)('$name uses published metrics with the same period', ({ metrics, expression }) => {
    const specs = Object.values(metrics);

    const own = specs.filter(({ namespace }) => namespace === CLOUDWATCH_NAMESPACE);

    expect(own.filter(({ name }) => !(name in CLOUDWATCH_METRICS))).toEqual([]);
    expect(new Set(specs.map(({ periodSeconds }) => periodSeconds)).size).toBe(1);
    expect(specs.length > 1).toBe(expression !== undefined);
    for (const name of expression === undefined ? [] : Object.keys(metrics)) expect(expression).toContain(name);
  });

  it('treat missing data as breaching where it means that nothing runs', () => {
    const breaching = alarms.filter(({ missing }) => missing === 'breaching').map(({ name }) => name);

    expect(breaching).toEqual(['millrace-dev-dispatcher-silent']);
  });

  it('report a late schedule, but neither a stage without schedules nor one that is late for a moment', () => {
    const { metrics, missing, datapoints, periods } = named('millrace-dev-schedules-late');

    expect(Object.values(metrics)).toMatchObject([{ name: 'LateSchedules', dimensions: { service: 'millrace-dev' } }]);
    expect(missing).toBe('notBreaching');
    expect(datapoints).toBeGreaterThan(1);
    // A run each minute can leave a minute without a datapoint.
    expect(periods).toBeGreaterThan(datapoints);
  });

  it('report a slow dispatcher between its usual duration and its timeout', () => {
    expect(named('millrace-dev-dispatcher-slow').threshold).toBeLessThan(150_000);
    expect(named('millrace-dev-dispatcher-slow').threshold).toBeGreaterThan(125_000);
  });
});

function deploy(target: AlarmTarget): Template {
  const stack = new Stack(new App(), 'test');
  const { alarms: made } = new DeployedAlarms(stack, 'Alarms', { stage: 'dev', specs: alarms, target });
  const rows = dashboardOf('dev');
  new DeployedDashboard(stack, 'Dashboard', { stage: 'dev', rows, alarms: made, logGroupNames: ['/millrace/dev/x'] });
  return Template.fromStack(stack);
}

const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:oncall';

describe('the deployed alarms', () => {
  const template = deploy({ email: 'oncall@example.com' });

  it('are one alarm per spec with its description, and a composite alarm over those of severity page', () => {
    const [composite] = Object.values(template.findResources('AWS::CloudWatch::CompositeAlarm'));
    const fed = JSON.stringify(composite?.Properties.AlarmRule).match(/ALARM\(/g);

    template.resourceCountIs('AWS::CloudWatch::Alarm', alarms.length);
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      AlarmName: 'millrace-dev-dispatcher-silent',
      Namespace: 'Millrace',
      MetricName: 'StalledHandlers',
      Statistic: 'SampleCount',
      Dimensions: [{ Name: 'service', Value: 'millrace-dev' }],
      Threshold: 1,
      TreatMissingData: 'breaching',
      AlarmActions: Match.absent(),
    });
    template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      AlarmName: 'millrace-dev-dead-letters',
      AlarmDescription: Match.stringLikeRegexp('npx millrace dlq'),
      AlarmActions: [Match.anyValue()],
      OKActions: [Match.anyValue()],
    });
    expect(fed).toHaveLength(alarms.filter(({ severity }) => severity === 'page').length);
  });

  it('notify an email address through a topic to which only alarms publish, over TLS', () => {
    template.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'oncall@example.com' });
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          Match.objectLike({ Effect: 'Allow', Principal: { Service: 'cloudwatch.amazonaws.com' } }),
        ]),
      },
    });
  });

  it('notify an existing topic', () => {
    const other = deploy({ topicArn: TOPIC });

    other.resourceCountIs('AWS::SNS::Topic', 0);
    other.hasResourceProperties('AWS::CloudWatch::CompositeAlarm', { AlarmActions: [TOPIC] });
  });

  it('notify nothing without a target', () => {
    const made = Object.values(deploy({}).findResources('AWS::CloudWatch::Alarm'));

    const notifying = made.filter(({ Properties }) => Properties.AlarmActions !== undefined);

    expect(notifying).toEqual([]);
  });
});

describe('the dashboard', () => {
  it('shows published metrics and logged events', () => {
    const graphs = dashboardOf('dev').flat();
    const own = graphs.flatMap(({ lines }) => Object.values(lines)).filter(({ namespace }) => namespace === 'Millrace');
    const searched = graphs.flatMap(({ search }) => search?.match(/(?<=\{Millrace.*MetricName=")\w+/) ?? []);

    const unknown = [...own.map(({ name }) => name), ...searched].filter((name) => !(name in CLOUDWATCH_METRICS));
    const events = LATEST_FAILURES.match(/job_\w+(?=')/g);

    expect(unknown).toEqual([]);
    expect(own.length).toBeGreaterThan(8);
    expect(events?.filter((event) => event in LOG_EVENTS)).toHaveLength(2);
  });

  it('fits the columns of CloudWatch', () => {
    const [board] = Object.values(deploy({}).findResources('AWS::CloudWatch::Dashboard'));
    const text = JSON.stringify(board?.Properties.DashboardBody).replaceAll('\\', '');

    const places = [...text.matchAll(/"width":(\d+),"height":\d+,"x":(\d+)/g)];

    expect(places.length).toBeGreaterThan(10);
    expect(places.filter(([, width, x]) => Number(width) + Number(x) > 24)).toEqual([]);
  });
});

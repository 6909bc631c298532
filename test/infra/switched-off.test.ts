import { expect, it } from 'vitest';
import { Deployed } from './deployed.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const { stack } = await synthesise({
  ...EXISTING,
  stage: 'prod',
  alarms: 'off',
  metricsByJobType: 'off',
  logJobStarts: 'off',
});
const deployed = new Deployed(stack);
const ofType = (type: string) => Object.values(deployed.resources).filter(({ Type }) => Type === type);

it('makes no alarms with alarms=off, and a dashboard without them', () => {
  const [dashboard] = ofType('AWS::CloudWatch::Dashboard');

  expect(ofType('AWS::CloudWatch::Alarm')).toEqual([]);
  expect(ofType('AWS::CloudWatch::CompositeAlarm')).toEqual([]);
  expect(JSON.stringify(dashboard)).toContain('Attempts per minute');
  expect(JSON.stringify(dashboard)).not.toContain('"alarm"');
});

it('passes metricsByJobType=off to every function of Millrace', () => {
  const counting = ofType('AWS::Lambda::Function').filter(({ Properties }) => 'FunctionName' in Properties);

  const variables = counting.map(({ Properties }) => (Properties.Environment as { Variables: object }).Variables);

  expect(variables.length).toBeGreaterThan(5);
  expect(variables).toMatchObject(variables.map(() => ({ MILLRACE_METRICS_BY_JOB_TYPE: 'off' })));
});

it('passes logJobStarts=off to every handler', () => {
  const variables = ofType('AWS::Lambda::Function').flatMap(({ Properties }) => {
    const { Variables = {} } = (Properties.Environment ?? {}) as { Variables?: Record<string, unknown> };
    return 'MILLRACE_QUEUE_URL' in Variables ? [Variables] : [];
  });

  expect(variables.length).toBeGreaterThan(1);
  expect(variables).toMatchObject(variables.map(() => ({ MILLRACE_LOG_JOB_STARTS: 'off' })));
});

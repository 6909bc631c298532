import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { expect, it } from 'vitest';
import { DeployedAlarms } from '../../../infra/constructs/deployed-alarms.ts';
import { alarmsOf } from '../../../infra/plan/alarms.ts';

it('EventBridge posts the changes of the composite alarm, and of each alarm of severity ticket', () => {
  const specs = alarmsOf({ stage: 'dev', apiId: 'api', clusterId: 'cluster', instanceId: 'instance' });
  const stack = new Stack(new App(), 'test');

  new DeployedAlarms(stack, 'Alarms', { stage: 'dev', specs, target: { webhook: 'https://hooks.example.com/abc' } });

  const template = Template.fromStack(stack);
  template.hasResourceProperties('AWS::Events::ApiDestination', {
    InvocationEndpoint: 'https://hooks.example.com/abc',
    HttpMethod: 'POST',
  });
  const rule = Object.values(template.findResources('AWS::Events::Rule'))[0] as { Properties: unknown };
  const { EventPattern } = rule.Properties as { EventPattern: { detail: { alarmName: string[] } } };
  expect(EventPattern).toMatchObject({ source: ['aws.cloudwatch'], detail: { state: { value: ['ALARM', 'OK'] } } });
  expect(EventPattern.detail.alarmName).toEqual([
    'millrace-dev-unhealthy',
    ...specs.filter(({ severity }) => severity === 'ticket').map(({ name }) => name),
  ]);
  // EventBridge's limit.
  expect(JSON.stringify(EventPattern).length).toBeLessThan(2048);
});

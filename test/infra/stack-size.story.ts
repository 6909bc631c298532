import { App, CfnResource, Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { expect, it } from 'vitest';
import { Millrace } from '../../infra/millrace.ts';
import { checkSize } from '../../infra/stack.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const { stack: small } = await synthesise(EXISTING);

function stackOf(resources: number): Stack {
  const stack = new Stack(new App(), 'Large');
  for (let n = 0; n < resources; n++) new CfnResource(stack, `Resource${n}`, { type: 'Test::Nothing' });
  return stack;
}

it('counts the resources of the template', () => {
  const resources = Object.keys(Template.fromStack(small).toJSON().Resources as object).length;
  for (let n = resources; n <= 500; n++) new CfnResource(small, `Filler${n}`, { type: 'Test::Nothing' });

  const check = () => checkSize(small, 2);

  expect(check).toThrow('handlers: 2 handlers make 501 resources in the stack');
}, 300_000);

it('warns when a stack exceeds 80 % of the limit of CloudFormation', () => {
  const [fair, large] = [stackOf(400), stackOf(401)];

  checkSize(fair, 20);
  checkSize(large, 22);

  Annotations.fromStack(fair).hasNoWarning('*', Match.anyValue());
  Annotations.fromStack(large).hasWarning(
    '*',
    Match.stringLikeRegexp('22 handlers make 401 resources in the stack, and CloudFormation allows 500'),
  );
}, 300_000);

it('refuses a stack above the limit of CloudFormation and names the fix', () => {
  const reason =
    'handlers: 70 handlers make 501 resources in the stack, and CloudFormation allows 500; set -c handlerStacks=3 before';

  expect(() => checkSize(stackOf(501), 70)).toThrow(reason);
});

it('refuses a second Millrace in a stack', () => {
  const again = () => new Millrace(small, 'Another', {} as never);

  expect(again).toThrow('a stack can contain one Millrace: give the other its own stack and stage');
});

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

it('counts what the template has', () => {
  const resources = Object.keys(Template.fromStack(small).toJSON().Resources as object).length;
  for (let n = resources; n <= 500; n++) new CfnResource(small, `Filler${n}`, { type: 'Test::Nothing' });

  const check = () => checkSize(small, 2);

  expect(check).toThrow('handlers: 2 make 501 resources');
});

it('warns when a stack comes near to what CloudFormation takes, and not before', () => {
  const [fair, large] = [stackOf(400), stackOf(401)];

  checkSize(fair, 20);
  checkSize(large, 22);

  Annotations.fromStack(fair).hasNoWarning('*', Match.anyValue());
  Annotations.fromStack(large).hasWarning('*', Match.stringLikeRegexp('22 make 401 resources and a stack takes 500'));
});

it('refuses more than CloudFormation takes, and says what to do', () => {
  const reason = 'handlers: 30 make 501 resources and a stack takes 500; put some into another folder with a stage';

  expect(() => checkSize(stackOf(501), 30)).toThrow(reason);
});

it('takes one Millrace a stack', () => {
  const again = () => new Millrace(small, 'Another', {} as never);

  expect(again).toThrow('a stack takes one Millrace: give the other one a stack and a stage of its own');
});

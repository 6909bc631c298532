import { Annotations, CfnResource, type Stack } from 'aws-cdk-lib';

/** What CloudFormation takes in one stack. */
const MOST_RESOURCES = 500;
const MANY = 0.8 * MOST_RESOURCES;

/**
 * Warns of a stack that is nearly too large.
 * @throws an Error when it is.
 */
export function checkSize(stack: Stack, handlers: number): void {
  const resources = stack.node.findAll().filter((one) => CfnResource.isCfnResource(one)).length;
  const sentence =
    `handlers: ${handlers} make ${resources} resources and a stack takes ${MOST_RESOURCES}; ` +
    'put some into another folder with a stage and a database of their own, or say -c alarms=off';
  if (resources > MOST_RESOURCES) throw new Error(sentence);
  if (resources > MANY) Annotations.of(stack).addWarningV2('millrace:resources', sentence);
}

import { CfnResource } from 'aws-cdk-lib';
import { CfnAlarm, CfnCompositeAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { IConstruct } from 'constructs';

/**
 * Everything that the rehearsal does otherwise than one would on AWS, because of MiniStack 1.5.33. The product knows
 * nothing of it. With another version of MiniStack: see what is no longer needed.
 */

interface Fault {
  /** What a deployment is answered when nothing is done about it. */
  readonly answer: string;
  avoid(resource: CfnResource): void;
}

const IN_TEMPLATES: readonly Fault[] = [
  {
    answer: 'Unrecognized resource types: [AWS::CloudWatch::CompositeAlarm]',
    avoid: (resource) => {
      if (resource instanceof CfnCompositeAlarm) resource.node.scope?.node.tryRemoveChild(resource.node.id);
    },
  },
  {
    answer: 'AWS::CloudWatch::Alarm Properties.Metrics (metric math) is not supported; use MetricName and Namespace.',
    avoid: (resource) => {
      if (!(resource instanceof CfnAlarm) || resource.metrics === undefined) return;
      resource.metrics = undefined;
      Object.assign(resource, { namespace: 'Rehearsal', metricName: 'Math', statistic: 'Sum', period: 60 });
    },
  },
];

/** Changes the stack into one that MiniStack takes. */
export function avoidFaults(stack: IConstruct): void {
  for (const resource of stack.node.findAll().filter(CfnResource.isCfnResource)) {
    for (const { avoid } of IN_TEMPLATES) avoid(resource);
  }
}

/** Functions run as processes in a folder that MiniStack makes, where Lambda has them in this one. */
export const TASK_ROOT = '/var/task';

import { expect } from 'vitest';
import { type Behaviour, refused } from './sqs-world.ts';

export const REDRIVE_ALLOW: Behaviour[] = [
  {
    name: 'a RedriveAllowPolicy of allowAll accepts every source, and is returned as it was set',
    run: async ({ sqs, queue, arn }) => {
      const RedriveAllowPolicy = JSON.stringify({ redrivePermission: 'allowAll' });
      const dlq = await queue({ RedriveAllowPolicy });

      await queue({ RedrivePolicy: JSON.stringify({ deadLetterTargetArn: await arn(dlq), maxReceiveCount: 2 }) });

      const { Attributes } = await sqs.getQueueAttributes({ QueueUrl: dlq, AttributeNames: ['RedriveAllowPolicy'] });
      expect(JSON.parse(Attributes?.RedriveAllowPolicy ?? 'null')).toEqual({ redrivePermission: 'allowAll' });
    },
  },
  {
    name: 'a RedriveAllowPolicy of denyAll refuses every source',
    run: async ({ queue, arn }) => {
      const dlq = await queue({ RedriveAllowPolicy: JSON.stringify({ redrivePermission: 'denyAll' }) });
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: await arn(dlq), maxReceiveCount: 2 });

      await refused(queue({ RedrivePolicy }), 'InvalidParameterValue', 'InvalidAttributeValue', 'AccessDenied');
    },
  },
  {
    name: 'a RedriveAllowPolicy of byQueue accepts only the queues that it names',
    run: async ({ sqs, queue, arn }) => {
      const [friend, stranger] = [await queue(), await queue()];
      const allow = { redrivePermission: 'byQueue', sourceQueueArns: [await arn(friend)] };
      const dlq = await queue({ RedriveAllowPolicy: JSON.stringify(allow) });
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: await arn(dlq), maxReceiveCount: 2 });

      await sqs.setQueueAttributes({ QueueUrl: friend, Attributes: { RedrivePolicy } });

      const call = sqs.setQueueAttributes({ QueueUrl: stranger, Attributes: { RedrivePolicy } });
      await refused(call, 'InvalidParameterValue', 'InvalidAttributeValue', 'AccessDenied');
    },
  },
  {
    name: 'a RedriveAllowPolicy with an unknown permission, or byQueue with no or eleven queues, is refused',
    run: async ({ queue, arn }) => {
      const one = await arn(await queue());
      const eleven = Array.from({ length: 11 }, (_, index) => `${one}-${index}`);

      for (const policy of [
        { redrivePermission: 'some' },
        { redrivePermission: 'byQueue' },
        { redrivePermission: 'byQueue', sourceQueueArns: eleven },
        { redrivePermission: 'denyAll', sourceQueueArns: [one] },
      ]) {
        const call = queue({ RedriveAllowPolicy: JSON.stringify(policy) });
        await refused(call, 'InvalidParameterValue', 'InvalidAttributeValue');
      }
    },
  },
];

import { QueueDoesNotExist, QueueNameExists } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { type Behaviour, refusal, refused } from './sqs-world.ts';

const deadLetters = (arn: string, maxReceiveCount: number) =>
  JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount });

export const QUEUES: Behaviour[] = [
  {
    name: 'creating a queue again with the same attributes returns the same URL',
    run: async ({ sqs, name }) => {
      const request = { QueueName: name(), Attributes: { VisibilityTimeout: '7' } };

      const first = await sqs.createQueue(request);
      const second = await sqs.createQueue(request);

      expect(second.QueueUrl).toBe(first.QueueUrl);
      expect(first.QueueUrl).toMatch(new RegExp(`/\\d{12}/${request.QueueName}$`));
    },
  },
  {
    name: 'creating a queue again with another attribute is refused as QueueNameExists',
    run: async ({ sqs, name }) => {
      const QueueName = name();
      await sqs.createQueue({ QueueName, Attributes: { VisibilityTimeout: '7' } });

      const again = sqs.createQueue({ QueueName, Attributes: { VisibilityTimeout: '8' } });

      expect(await refusal(again)).toBeInstanceOf(QueueNameExists);
    },
  },
  {
    name: 'a queue name of 81 characters or with a space is refused',
    run: async ({ sqs }) => {
      await refused(sqs.createQueue({ QueueName: 'x'.repeat(81) }), 'InvalidParameterValue');
      await refused(sqs.createQueue({ QueueName: 'a b' }), 'InvalidParameterValue');
    },
  },
  {
    name: 'a VisibilityTimeout of 43201 is refused at creation',
    run: async ({ queue }) => refused(queue({ VisibilityTimeout: '43201' }), 'InvalidAttributeValue'),
  },
  {
    name: 'a maxReceiveCount of 0 or 1001 is refused',
    run: async ({ queue, arn }) => {
      const dlq = await arn(await queue());

      await refused(queue({ RedrivePolicy: deadLetters(dlq, 0) }), 'InvalidParameterValue', 'InvalidAttributeValue');
      await refused(queue({ RedrivePolicy: deadLetters(dlq, 1001) }), 'InvalidParameterValue', 'InvalidAttributeValue');
    },
  },
  {
    name: 'a redrive policy with a missing queue is refused',
    run: async ({ queue, arn }) => {
      const missing = `${await arn(await queue())}-missing`;

      const call = queue({ RedrivePolicy: deadLetters(missing, 3) });

      await refused(call, 'InvalidParameterValue', 'QueueDoesNotExist', 'NonExistentQueue');
    },
  },
  {
    name: 'an unknown queue attribute is refused',
    run: async ({ queue }) => refused(queue({ Colour: 'red' }), 'InvalidAttributeName'),
  },
  {
    name: 'a new queue has the documented defaults, such as a MaximumMessageSize of 1 MiB',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();

      const { Attributes } = await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] });

      expect(Attributes).toMatchObject({
        MaximumMessageSize: '1048576',
        VisibilityTimeout: '30',
        DelaySeconds: '0',
        MessageRetentionPeriod: '345600',
        ReceiveMessageWaitTimeSeconds: '0',
        ApproximateNumberOfMessages: '0',
      });
    },
  },
  {
    name: 'the URL of a missing queue is refused as QueueDoesNotExist',
    run: async ({ sqs, name }) => {
      const error = await sqs.getQueueUrl({ QueueName: name() }).catch((reason: unknown) => reason);

      expect(error).toBeInstanceOf(QueueDoesNotExist);
      expect((error as { Error?: { Code?: string } }).Error?.Code).toBe('AWS.SimpleQueueService.NonExistentQueue');
    },
  },
  {
    name: 'a queue cannot be created again within 60 seconds of its deletion',
    run: async ({ sqs, name }) => {
      const QueueName = name();
      const { QueueUrl } = await sqs.createQueue({ QueueName });
      await sqs.deleteQueue({ QueueUrl });

      await refused(sqs.createQueue({ QueueName }), 'QueueDeletedRecently');
    },
  },
  {
    name: 'ListQueues filters by prefix and returns pages',
    run: async ({ sqs, name }) => {
      const prefix = name();
      for (const end of ['a', 'b', 'c']) await sqs.createQueue({ QueueName: `${prefix}-${end}` });

      const first = await sqs.listQueues({ QueueNamePrefix: prefix, MaxResults: 2 });
      const second = await sqs.listQueues({
        QueueNamePrefix: prefix,
        MaxResults: 2,
        ...(first.NextToken === undefined ? {} : { NextToken: first.NextToken }),
      });

      const all = [...(first.QueueUrls ?? []), ...(second.QueueUrls ?? [])];
      expect(first.QueueUrls).toHaveLength(2);
      expect(first.NextToken).toBeTypeOf('string');
      expect(all.map((url) => url.slice(-1)).sort()).toEqual(['a', 'b', 'c']);
      expect(second.NextToken).toBeUndefined();
    },
  },
  {
    name: 'PurgeQueue deletes all messages, including those in flight',
    run: async ({ sqs, queue, send, receive, depth }) => {
      const QueueUrl = await queue();
      await send(QueueUrl, '1', '2');
      await receive(QueueUrl, { MaxNumberOfMessages: 1 });

      await sqs.purgeQueue({ QueueUrl });

      expect(await depth(QueueUrl)).toEqual([0, 0, 0]);
    },
  },
  {
    name: 'a second PurgeQueue within 60 seconds is refused',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();
      await sqs.purgeQueue({ QueueUrl });

      await refused(sqs.purgeQueue({ QueueUrl }), 'PurgeQueueInProgress');
    },
  },
  {
    name: 'the depth attributes count visible, in-flight and delayed messages separately',
    run: async ({ sqs, queue, send, receive, depth }) => {
      const QueueUrl = await queue();
      await send(QueueUrl, '1', '2', '3');
      await sqs.sendMessage({ QueueUrl, MessageBody: 'later', DelaySeconds: 60 });
      await receive(QueueUrl, { MaxNumberOfMessages: 1 });

      expect(await depth(QueueUrl)).toEqual([2, 1, 1]);
    },
  },
  {
    name: 'SetQueueAttributes changes the visibility timeout and clears the redrive policy',
    run: async ({ sqs, pair }) => {
      const { source } = await pair(3);

      await sqs.setQueueAttributes({ QueueUrl: source, Attributes: { VisibilityTimeout: '5', RedrivePolicy: '' } });

      const { Attributes } = await sqs.getQueueAttributes({ QueueUrl: source, AttributeNames: ['All'] });
      expect(Attributes?.VisibilityTimeout).toBe('5');
      expect(Attributes?.RedrivePolicy).toBeUndefined();
    },
  },
  {
    name: 'tags can be set, listed and removed',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();
      await sqs.tagQueue({ QueueUrl, Tags: { team: 'jobs', stage: 'dev' } });
      await sqs.untagQueue({ QueueUrl, TagKeys: ['stage'] });

      expect((await sqs.listQueueTags({ QueueUrl })).Tags).toEqual({ team: 'jobs' });
    },
  },
  {
    name: 'permissions can be added to the policy and removed',
    run: async ({ sqs, queue }) => {
      const QueueUrl = await queue();
      const policy = async () =>
        (await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['Policy'] })).Attributes?.Policy ?? '';

      await sqs.addPermission({
        QueueUrl,
        Label: 'reader',
        AWSAccountIds: ['123456789012'],
        Actions: ['ReceiveMessage'],
      });
      const added = await policy();
      await sqs.removePermission({ QueueUrl, Label: 'reader' });

      expect(added).toContain('reader');
      expect(await policy()).not.toContain('reader');
    },
  },
];

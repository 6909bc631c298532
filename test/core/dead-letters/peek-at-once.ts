import type { SQS } from '@aws-sdk/client-sqs';
import type { DeadLetterQueues } from '../../../core/aws/dead-letter-queues.ts';

/** A peek without the wait of a second in the last round: the test server returns all messages at once. */
export function peekAtOnce(sqs: SQS): DeadLetterQueues['peek'] {
  return async (QueueUrl, VisibilityTimeout) => {
    const { Messages = [] } = await sqs.receiveMessage({
      ...{ QueueUrl, VisibilityTimeout, MaxNumberOfMessages: 10 },
      MessageSystemAttributeNames: ['SentTimestamp'],
    });
    return Messages.map(({ MessageId, ReceiptHandle, Body, Attributes }) => ({
      ...{ messageId: MessageId!, receiptHandle: ReceiptHandle!, body: Body! },
      sentAt: Number(Attributes?.SentTimestamp),
    }));
  };
}

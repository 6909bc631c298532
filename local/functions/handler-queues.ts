import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  QueueNameExists,
  SetQueueAttributesCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { openSqs } from '../../core/aws/clients.ts';
import type { DefinitionData } from '../../core/handler/definition.ts';
import { deadLetterQueueName, queueName } from '../../core/handler/naming.ts';
import {
  DEAD_LETTER_RETENTION_SECONDS,
  MAX_RECEIVE_COUNT,
  SOURCE_RETENTION_SECONDS,
  timingOf,
} from '../../core/handler/timing.ts';
import { CREDENTIALS } from '../state.ts';

export interface HandlerQueues {
  readonly queueUrl: string;
  readonly queueArn: string;
  readonly deadLetterQueueUrl: string;
}

export function openSqsClient(endpoint: string, region: string): SQSClient {
  return openSqs({ maxAttempts: 10 }, { endpoint, region, credentials: CREDENTIALS });
}

/** Creates a handler's queue and dead-letter queue, or updates existing ones to the values of the definition. */
export async function ensureQueues(
  client: SQSClient,
  stage: string,
  definition: DefinitionData,
): Promise<HandlerQueues> {
  const dead = await ensureQueue(client, deadLetterQueueName(stage, definition), {
    MessageRetentionPeriod: String(DEAD_LETTER_RETENTION_SECONDS),
  });
  const live = await ensureQueue(client, queueName(stage, definition), {
    MessageRetentionPeriod: String(SOURCE_RETENTION_SECONDS),
    VisibilityTimeout: String(timingOf(definition).visibilityTimeout),
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: MAX_RECEIVE_COUNT }),
  });
  return { queueUrl: live.url, queueArn: live.arn, deadLetterQueueUrl: dead.url };
}

async function ensureQueue(client: SQSClient, name: string, attributes: Record<string, string>) {
  const url = await createQueue(client, name, attributes);
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
  );
  return { url, arn: Attributes?.QueueArn ?? '' };
}

async function createQueue(client: SQSClient, name: string, attributes: Record<string, string>): Promise<string> {
  try {
    const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
    return QueueUrl ?? '';
  } catch (error) {
    if (!(error instanceof QueueNameExists)) throw error;
    // The definition was changed after the queue was created.
    const { QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName: name }));
    await client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: attributes }));
    return QueueUrl;
  }
}

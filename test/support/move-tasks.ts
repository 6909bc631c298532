import {
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import type { RunningStack } from './project.ts';
import { openSqs } from './stack-doors.ts';

const PATIENCE = { interval: 100 };

/**
 * Runs move tasks as the SQS console does, until the dead-letter queue is empty: a task leaves messages in flight.
 * Returns the number of messages that all tasks moved.
 */
export async function redriveBySqs(stack: RunningStack, jobType: string): Promise<number> {
  const client = openSqs(stack);
  let moved = 0;
  do moved += await runTask(client, await arnOf(client, urlOf(stack, jobType)));
  while ((await depthOf(client, urlOf(stack, jobType))) > 0);
  client.destroy();
  return moved;
}

/** Returns the number of messages in the dead-letter queue of a handler, including those in flight. */
export async function countDeadMessages(stack: RunningStack, jobType: string): Promise<number> {
  const client = openSqs(stack);
  const depth = await depthOf(client, urlOf(stack, jobType));
  client.destroy();
  return depth;
}

/** Runs a task without a destination, which moves each message back to its source queue. */
async function runTask(client: SQSClient, SourceArn: string): Promise<number> {
  const before = await listTasks(client, SourceArn);
  await client.send(new StartMessageMoveTaskCommand({ SourceArn }));
  return eventually(async () => {
    const tasks = await listTasks(client, SourceArn);
    expect(tasks.length).toBe(Math.min(before.length + 1, 10));
    expect(tasks[0]?.Status).toBe('COMPLETED');
    return tasks[0]?.ApproximateNumberOfMessagesMoved ?? 0;
  }, PATIENCE);
}

async function listTasks(client: SQSClient, SourceArn: string) {
  const { Results = [] } = await client.send(new ListMessageMoveTasksCommand({ SourceArn, MaxResults: 10 }));
  return Results;
}

async function arnOf(client: SQSClient, QueueUrl: string): Promise<string> {
  const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] });
  const { Attributes } = await client.send(command);
  return Attributes?.QueueArn as string;
}

async function depthOf(client: SQSClient, QueueUrl: string): Promise<number> {
  const command = new GetQueueAttributesCommand({
    QueueUrl,
    AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
  });
  const { Attributes } = await client.send(command);
  return Object.values(Attributes ?? {}).reduce((sum, count) => sum + Number(count), 0);
}

function urlOf({ state }: RunningStack, jobType: string): string {
  return state.handlers.find((handler) => handler.jobType === jobType)?.deadLetterQueueUrl as string;
}

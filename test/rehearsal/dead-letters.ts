import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { Deployment } from './deployment.ts';
import { invoke } from './operator.ts';

/** Backdates the death of a job by a day, so that the mirror treats its message as missing. */
export async function dieYesterday({ query }: Deployment, jobId: string): Promise<void> {
  await query(
    `update millrace.dead_letters
       set died_at = died_at - interval '1 day', last_seen_at = last_seen_at - interval '1 day' where job_id = $1`,
    [jobId],
  );
}

/** Makes the mirror sweep every queue now, not in a quarter of an hour. */
export async function sweepNow({ query, cloud }: Deployment): Promise<void> {
  await query(`update millrace.dead_letter_queues set swept_at = swept_at - interval '1 hour'`);
  await invoke(cloud, 'millrace-rehearsal-dlq-mirror');
}

/** Waits for the dead letter's message and returns the ARN of its source queue. The message stays visible. */
export async function untilDeadMessage(deployment: Deployment): Promise<string | undefined> {
  const client = new SQSClient(deployment.cloud.client);
  const { Queues } = await deployment.outputs();
  const QueueUrl = `${Queues}millrace-rehearsal-recording-dlq`;
  const request = { QueueUrl, VisibilityTimeout: 0, MessageSystemAttributeNames: ['All'] };
  const message = await eventually(
    async () => {
      const { Messages = [] } = await client.send(new ReceiveMessageCommand(request as never));
      expect(Messages).toHaveLength(1);
      return Messages[0];
    },
    { timeout: 60_000, interval: 500 },
  );
  client.destroy();
  return message?.Attributes?.DeadLetterQueueSourceArn;
}

import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { invoke } from './by-hand.ts';
import type { Deployment } from './deployment.ts';

/** Makes a job look as if it had died yesterday, so that its message is late enough to be missed. */
export async function dieYesterday({ query }: Deployment, jobId: string): Promise<void> {
  await query(
    `update millrace.dead_letters
       set died_at = died_at - interval '1 day', last_seen_at = last_seen_at - interval '1 day' where job_id = $1`,
    [jobId],
  );
}

/** Has the mirror look into every queue now, and not in a quarter of an hour. */
export async function sweepNow({ query, cloud }: Deployment): Promise<void> {
  await query(`update millrace.dead_letter_queues set swept_at = swept_at - interval '1 hour'`);
  await invoke(cloud, 'millrace-rehearsal-dlq-mirror');
}

/** Where the message came from; it is visible to others again at once. */
export async function untilDeadMessage(deployment: Deployment): Promise<string | undefined> {
  const client = new SQSClient(deployment.cloud.client);
  const { ObedientDeadLetterQueue } = await deployment.outputs();
  const question = { QueueUrl: ObedientDeadLetterQueue, VisibilityTimeout: 0, MessageSystemAttributeNames: ['All'] };
  const message = await eventually(
    async () => {
      const { Messages = [] } = await client.send(new ReceiveMessageCommand(question as never));
      expect(Messages).toHaveLength(1);
      return Messages[0];
    },
    { timeout: 60_000, interval: 500 },
  );
  client.destroy();
  return message?.Attributes?.DeadLetterQueueSourceArn;
}

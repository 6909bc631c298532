import { PurgeQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, expect, it } from 'vitest';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { enqueueStory, readEffects, STORY_HANDLER, untilDone, whileRunning } from './story.ts';

let project: Project;
let stack: RunningStack;

afterEach(async () => {
  await stack.stop();
  await project.remove();
});

it('purging every queue while 500 jobs run loses no job', async () => {
  project = await makeProject({ 'story-mail.ts': STORY_HANDLER });
  stack = await startUp(project, ['--fast-retries']);
  await enqueueStory(stack, 500, 400);
  await whileRunning(() => stack, 10);

  const { sqsEndpoint: endpoint, handlers } = stack.state;
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = new SQSClient({ endpoint, region: 'us-east-1', credentials });
  for (const { queueUrl, deadLetterQueueUrl } of handlers) {
    await client.send(new PurgeQueueCommand({ QueueUrl: queueUrl }));
    await client.send(new PurgeQueueCommand({ QueueUrl: deadLetterQueueUrl }));
  }
  client.destroy();

  // The lease of a dispatched job of this handler is 75 s.
  expect(await untilDone(stack, 180_000)).toEqual({ succeeded: 500 });
  expect((await readEffects(stack)).jobs).toBe(500);
});

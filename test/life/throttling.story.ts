import { DeleteFunctionConcurrencyCommand, LambdaClient, PutFunctionConcurrencyCommand } from '@aws-sdk/client-lambda';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { insertJob, openSqs, readJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

const FunctionName = 'millrace-local-braked';

let project: Project;
let stack: RunningStack;
let lambda: LambdaClient;

beforeAll(async () => {
  project = await makeProject({ 'braked.ts': handlerSource('braked', 'return jobId;', `timeout: '1s',`) });
  stack = await startUp(project);
  const credentials = { accessKeyId: stack.state.lambdaAccessKeyId, secretAccessKey: 'local' };
  lambda = new LambdaClient({ endpoint: stack.state.lambdaEndpoint, region: 'us-east-1', credentials });
});

afterAll(async () => {
  lambda.destroy();
  await project.remove();
});

it('the jobs of a throttled handler lose time, but no attempt', async () => {
  await lambda.send(new PutFunctionConcurrencyCommand({ FunctionName, ReservedConcurrentExecutions: 0 }));
  const ids = await Promise.all(Array.from({ length: 15 }, () => insertJob(stack, 'braked', {})));
  await eventually(async () => expect(await countHidden()).toBe(15));
  const whileThrottled = await Promise.all(ids.map((id) => readJob(stack, id)));
  await lambda.send(new DeleteFunctionConcurrencyCommand({ FunctionName }));

  for (const id of ids) await untilJob(stack, id, { status: 'succeeded', attempts: 1, result: id });

  expect(new Set(whileThrottled.map(({ status, attempts }) => `${status} ${attempts}`))).toEqual(
    new Set(['dispatched 0']),
  );
  const attempts = await stack.query('select from millrace.job_attempts');
  expect(attempts).toEqual([]);
});

/** Returns the number of messages that the mapping has received and cannot run. */
async function countHidden(): Promise<number> {
  const handler = stack.state.handlers.find(({ jobType }) => jobType === 'braked');
  const sqs = openSqs(stack);
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: handler?.queueUrl, AttributeNames: ['All'] }),
  );
  sqs.destroy();
  return Number(Attributes?.ApproximateNumberOfMessagesNotVisible);
}

import {
  GetFunctionConfigurationCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
  ListFunctionsCommand,
} from '@aws-sdk/client-lambda';
import { ListScheduleGroupsCommand, ListSchedulesCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Cloud } from './ministack.ts';

/** Returns the names of everything in the account that a stage could leave behind. */
export async function listLeftovers(cloud: Cloud): Promise<string[]> {
  const lambda = new LambdaClient(cloud.client);
  const sqs = new SQSClient(cloud.client);
  const scheduler = new SchedulerClient(cloud.client);
  try {
    const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({}));
    const { Functions = [] } = await lambda.send(new ListFunctionsCommand({}));
    const { EventSourceMappings = [] } = await lambda.send(new ListEventSourceMappingsCommand({}));
    const { Schedules = [] } = await scheduler.send(new ListSchedulesCommand({}));
    const { ScheduleGroups = [] } = await scheduler.send(new ListScheduleGroupsCommand({}));
    return [
      ...QueueUrls.map((url) => `queue ${url.split('/').at(-1)}`),
      ...Functions.map(({ FunctionName }) => `function ${FunctionName}`),
      ...EventSourceMappings.map(({ FunctionArn }) => `mapping of ${FunctionArn?.split(':').at(-1)}`),
      ...Schedules.map(({ Name }) => `schedule ${Name}`),
      ...ScheduleGroups.filter(({ Name }) => Name !== 'default').map(({ Name }) => `schedule group ${Name}`),
      ...(await logGroups(cloud)).map((name) => `log group ${name}`),
    ];
  } finally {
    for (const client of [lambda, sqs, scheduler]) client.destroy();
  }
}

/** Returns when the code of a function was last changed. */
export async function changedAt(cloud: Cloud, functionName: string): Promise<Date> {
  const client = new LambdaClient(cloud.client);
  const { LastModified } = await client.send(new GetFunctionConfigurationCommand({ FunctionName: functionName }));
  client.destroy();
  return new Date(LastModified ?? Number.NaN);
}

/** Without an SDK: the client of CloudWatch Logs would be a dependency for this one request. */
async function logGroups({ endpoint, client }: Cloud): Promise<string[]> {
  const scope = `${client.credentials.accessKeyId}/20260101/${client.region}/logs/aws4_request`;
  const headers = {
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': 'Logs_20140328.DescribeLogGroups',
    authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none`,
  };
  const answer = await fetch(endpoint, { method: 'POST', headers, body: '{}' });
  const { logGroups: found } = (await answer.json()) as { logGroups: { logGroupName: string }[] };
  return found.map(({ logGroupName }) => logGroupName);
}

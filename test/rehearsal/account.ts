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

async function logGroups(cloud: Cloud): Promise<string[]> {
  const headers = {
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': 'Logs_20140328.DescribeLogGroups',
  };
  const { logGroups: found } = JSON.parse(await send(cloud, 'logs', headers, '{}'));
  return (found as { logGroupName: string }[]).map(({ logGroupName }) => logGroupName);
}

/** Returns the policies in the role of a function, as one JSON text. */
export async function readPermissions(cloud: Cloud, functionName: string): Promise<string> {
  const client = new LambdaClient(cloud.client);
  const { Role = '' } = await client.send(new GetFunctionConfigurationCommand({ FunctionName: functionName }));
  client.destroy();
  const RoleName = Role.split('/').at(-1) ?? '';
  const ask = (Action: string, more = {}) => {
    const body = new URLSearchParams({ Action, Version: '2010-05-08', RoleName, ...more });
    return send(cloud, 'iam', { 'content-type': 'application/x-www-form-urlencoded' }, body.toString());
  };
  const list = await ask('ListRolePolicies');
  const names = [...list.matchAll(/<member>([^<]+)<\/member>/g)].map(([, name = '']) => name);
  const policies = names.map(async (PolicyName) => {
    const [, document = ''] = /<PolicyDocument>([^<]*)</.exec(await ask('GetRolePolicy', { PolicyName })) ?? [];
    return JSON.parse(decodeURIComponent(document)) as object;
  });
  return JSON.stringify(await Promise.all(policies));
}

/** Without an SDK: the client of each service would be a dependency for one or two requests. */
async function send({ endpoint, client }: Cloud, service: string, headers: object, body: string): Promise<string> {
  const scope = `${client.credentials.accessKeyId}/20260101/${client.region}/${service}/aws4_request`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none`;
  const answer = await fetch(endpoint, { method: 'POST', headers: { ...headers, authorization }, body });
  return answer.text();
}

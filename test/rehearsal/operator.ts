import {
  InvokeCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';
import {
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { Cloud } from './ministack.ts';

/** Removes the redrive policy of a queue, as an operator could. Returns a function that restores it. */
export async function removeRedrivePolicy(cloud: Cloud, queueName: string): Promise<() => Promise<void>> {
  const client = new SQSClient(cloud.client);
  const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName: queueName }));
  const wanted = { QueueUrl, AttributeNames: ['RedrivePolicy' as const] };
  const { Attributes } = await client.send(new GetQueueAttributesCommand(wanted));
  const set = async (RedrivePolicy: string): Promise<void> => {
    await client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { RedrivePolicy } }));
  };
  await set('');
  return () => set(Attributes?.RedrivePolicy ?? '').finally(() => client.destroy());
}

/** Disables the mapping of a function. Returns a function that enables it again. */
export async function disableMapping(cloud: Cloud, functionName: string): Promise<() => Promise<void>> {
  const client = new LambdaClient(cloud.client);
  const { EventSourceMappings = [] } = await client.send(
    new ListEventSourceMappingsCommand({ FunctionName: functionName }),
  );
  const set = async (Enabled: boolean): Promise<void> => {
    await client.send(new UpdateEventSourceMappingCommand({ UUID: EventSourceMappings[0]?.UUID, Enabled }));
  };
  await set(false);
  return () => set(true).finally(() => client.destroy());
}

export async function invoke(cloud: Cloud, functionName: string): Promise<void> {
  const client = new LambdaClient(cloud.client);
  const { FunctionError } = await client.send(new InvokeCommand({ FunctionName: functionName, Payload: '{}' }));
  client.destroy();
  if (FunctionError !== undefined) throw new Error(`${functionName}: ${FunctionError}`);
}

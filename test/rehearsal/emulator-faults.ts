import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { CfnResource } from 'aws-cdk-lib';
import { CfnAlarm, CfnCompositeAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { IConstruct } from 'constructs';

/**
 * Everything that the rehearsal does otherwise than one would on AWS, because of MiniStack 1.5.33. The product knows
 * nothing of it. With another version of MiniStack: see what is no longer needed. Faults about which nothing has to be
 * done stand in `docs/decisions/0026-rehearsal.md`, with these.
 */

interface Fault {
  /** What a deployment is answered when nothing is done about it. */
  readonly answer: string;
  avoid(resource: CfnResource): void;
}

const IN_TEMPLATES: readonly Fault[] = [
  {
    answer: 'Unrecognized resource types: [AWS::CloudWatch::CompositeAlarm]',
    avoid: (resource) => {
      if (resource instanceof CfnCompositeAlarm) resource.node.scope?.node.tryRemoveChild(resource.node.id);
    },
  },
  {
    answer: 'AWS::CloudWatch::Alarm Properties.Metrics (metric math) is not supported; use MetricName and Namespace.',
    avoid: (resource) => {
      if (!(resource instanceof CfnAlarm) || resource.metrics === undefined) return;
      resource.metrics = undefined;
      Object.assign(resource, { namespace: 'Rehearsal', metricName: 'Math', statistic: 'Sum', period: 60 });
    },
  },
];

/** Changes the stack into one that MiniStack takes. */
export function avoidFaults(stack: IConstruct): void {
  for (const resource of stack.node.findAll().filter(CfnResource.isCfnResource)) {
    for (const { avoid } of IN_TEMPLATES) avoid(resource);
  }
}

/** MiniStack does not know this question, and a mirror that gets no answer misses no message. */
const MOVE_TASKS = 'AmazonSQS.ListMessageMoveTasks';
const OF_A_CONNECTION = ['host', 'connection', 'content-length', 'transfer-encoding'];

/** SQS for the functions: that of MiniStack, and nothing was ever moved. */
export async function openSqs(endpoint: string): Promise<{ readonly endpoint: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    if (request.headers['x-amz-target'] === MOVE_TASKS) {
      response.end(JSON.stringify({ Results: [] }));
      return;
    }
    const headers = Object.entries(request.headers).filter(([name]) => !OF_A_CONNECTION.includes(name));
    const answer = await fetch(`${endpoint}${request.url}`, {
      ...{ method: request.method ?? 'POST', body },
      headers: Object.fromEntries(headers) as Record<string, string>,
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(await answer.text());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Functions run as processes in a folder that MiniStack makes, where Lambda has them in this one. */
export const TASK_ROOT = '/var/task';

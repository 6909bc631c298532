import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { CfnResource } from 'aws-cdk-lib';
import { CfnAlarm, CfnCompositeAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { IConstruct } from 'constructs';

/**
 * Everything that the rehearsal does differently from AWS because of MiniStack 1.5.33. The product contains none of it.
 * After an upgrade of MiniStack, check which parts are still required. `docs/decisions/0026-rehearsal.md` lists these
 * faults, and others that require no workaround.
 */

interface Fault {
  /** The error of a deployment without the workaround. */
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

/** Changes the stack into one that MiniStack accepts. */
export function avoidFaults(stack: IConstruct): void {
  for (const resource of stack.node.findAll().filter(CfnResource.isCfnResource)) {
    for (const { avoid } of IN_TEMPLATES) avoid(resource);
  }
}

/** MiniStack does not support this action. Without an answer, the mirror does not restore missing messages. */
const MOVE_TASKS = 'AmazonSQS.ListMessageMoveTasks';
const CONNECTION_HEADERS = ['host', 'connection', 'content-length', 'transfer-encoding'];

/** Starts a proxy to the SQS of MiniStack, which reports no move tasks. */
export async function openSqsProxy(endpoint: string): Promise<{ readonly endpoint: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    if (request.headers['x-amz-target'] === MOVE_TASKS) {
      response.end(JSON.stringify({ Results: [] }));
      return;
    }
    const headers = Object.entries(request.headers).filter(([name]) => !CONNECTION_HEADERS.includes(name));
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

/** Folder of a function on Lambda. MiniStack runs functions in another one. */
export const TASK_ROOT = '/var/task';

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type SqsEmulator, startSqs } from '../../local/sqs/server.ts';
import { expectNoProcess, processesOf } from '../support/processes.ts';
import { launch, makeProject, type Project, whenUp } from '../support/project.ts';
import { insertJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

let project: Project;
let sqs: SqsEmulator;

beforeAll(async () => {
  project = await makeProject({ 'quick.ts': handlerSource('quick', 'return 1;') });
  sqs = await startSqs();
});

afterAll(async () => {
  await project.remove();
  await sqs.close();
});

it('npm start uses the SQS server of AWS_ENDPOINT_URL_SQS, and starts none itself', async () => {
  const env = { AWS_ENDPOINT_URL_SQS: sqs.endpoint };
  const stack = await whenUp(project, launch(project, [], { env }));

  const id = await insertJob(stack, 'quick', {});
  await untilJob(stack, id, { status: 'succeeded' });

  const [handler] = stack.state.handlers;
  const started = await processesOf(project.folder);
  expect(stack.output()).toMatch(new RegExp(`SQS +${sqs.endpoint} +set by AWS_ENDPOINT_URL_SQS\n`));
  expect(stack.state.sqsEndpoint).toBe(sqs.endpoint);
  expect(handler?.queueUrl).toBe(`${sqs.endpoint}/000000000000/millrace-local-quick`);
  expect(started.filter((line) => /mailbox\/main/.test(line))).toHaveLength(1);
  expect(started.filter((line) => /sqs\/main/.test(line))).toEqual([]);
  expect(await stack.stop()).toBe(0);
});

it.each([
  ['is not an address', async () => '127.0.0.1:9324', /got "127\.0\.0\.1:9324"/],
  [
    'is an address without a server',
    async () => 'http://127.0.0.1:1',
    /this one does not answer: connect ECONNREFUSED/,
  ],
  ['is the address of a web server', webServer, /this one does not answer: /],
])('npm start names AWS_ENDPOINT_URL_SQS when it %s, and leaves no process', async (_what, address, reason) => {
  const env = { AWS_ENDPOINT_URL_SQS: await address() };

  const start = launch(project, [], { env });

  expect(await start.exited).toBe(2);
  expect(start.output()).toMatch(/^error: AWS_ENDPOINT_URL_SQS: expected the address of a running SQS server/m);
  expect(start.output()).toMatch(reason);
  await expectNoProcess(project.folder);
});

async function webServer(): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(404).end('<html></html>'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeState } from '../../../local/state.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';
import { openFakeLambda } from './fake-lambda.ts';

const DATABASE = 'postgres://me@127.0.0.1:1/one';
const lambda = await openFakeLambda('{"claimed":3,"sent":2}');
const { endpoint, env: aws, invocations } = lambda;

/** Creates a folder whose stack is this process. */
async function stack(): Promise<string> {
  const folder = await temporaryFolder();
  const nowhere = 'http://127.0.0.1:1';
  await writeState(folder, {
    ...{ pid: process.pid, databaseUrl: DATABASE, lambdaEndpoint: endpoint, sqsEndpoint: nowhere, handlers: [] },
    ...{ mailFolder: join(folder, 'mails'), smtpUrl: 'smtp://127.0.0.1:1', filesUrl: nowhere, apiUrl: nowhere },
    lambdaAccessKeyId: 'key-of-the-stack',
  });
  return folder;
}

const invoked = (name: string, event = {}) => [
  { path: `/2015-03-31/functions/${name}/invocations`, event: { nudge: true, ...event } },
];

describe('process', () => {
  it('runs a round of the dispatcher of the running stack, and prints the result', async () => {
    const { code, stdout, stderr } = await runCli(['process'], { cwd: await stack() });

    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'claimed\t3\nsent\t2\n', stderr: '' });
    expect(invocations).toEqual(invoked('millrace-local-dispatcher'));
    expect(lambda.keys).toEqual(['key-of-the-stack']);
  });

  it.each([
    ['the flag', ['--function', 'a-dispatcher'], { MILLRACE_DISPATCHER_FUNCTION: 'another' }],
    ['the environment', [], { MILLRACE_DISPATCHER_FUNCTION: 'a-dispatcher' }],
  ])('invokes the dispatcher on AWS that %s names', async (_what, args, env) => {
    const { code, stdout } = await runCli(['process', '--json', ...args], { env: { ...aws, ...env } });

    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"claimed":3,"sent":2}\n' });
    expect(invocations).toEqual(invoked('a-dispatcher'));
  });

  it('passes the limit to the dispatcher', async () => {
    const { code } = await runCli(['process', '--limit', '7'], { cwd: await stack() });

    expect(code).toBe(0);
    expect(invocations).toEqual(invoked('millrace-local-dispatcher', { limit: 7 }));
  });

  it.each(['0', '10001', 'x'])('refuses --limit %s', async (limit) => {
    const { code, stderr } = await runCli(['process', '--limit', limit], { cwd: await stack() });

    expect({ code, invocations }).toEqual({ code: 2, invocations: [] });
    expect(stderr).toContain('--limit');
  });

  it('invokes no function when the database is not that of the stack', async () => {
    const elsewhere = 'postgres://me@127.0.0.1:1/two';

    const { code, stderr } = await runCli(['process', '--database-url', elsewhere], { cwd: await stack() });

    expect(code).toBe(2);
    expect(stderr).toContain('does not use 127.0.0.1:1/two: name the dispatcher with --function');
    expect(invocations).toEqual([]);
  });

  it('reports how to name a dispatcher when no stack runs', async () => {
    const { code, stderr } = await runCli(['process'], { cwd: await temporaryFolder() });

    expect(code).toBe(7);
    expect(stderr).toContain('or name a dispatcher on AWS with --function');
  });

  it.each([
    ['is missing', { status: 404, type: 'ResourceNotFoundException' }, 3, 'no such function'],
    [
      'is forbidden',
      { status: 403, type: 'AccessDeniedException' },
      4,
      'access denied: these AWS credentials lack the permission',
    ],
    ['is throttled', { status: 429, type: 'TooManyRequestsException' }, 1, 'it is throttled'],
  ])('explains that the function %s', async (_what, { status, type }, code, sentence) => {
    lambda.answer = { status, headers: { 'x-amzn-errortype': type }, body: '{}' };

    const ended = await runCli(['process', '--json', '--function', 'f'], { env: aws });

    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).toContain(`f: ${sentence}`);
  });

  it.each([
    ['fails', { headers: { 'x-amz-function-error': 'Unhandled' }, body: '{"errorMessage":"boom"}' }, 'boom'],
    ['is not a dispatcher', { body: 'null' }, 'check that it is the dispatcher'],
  ])('exits with 1 when the function %s', async (_what, reply, sentence) => {
    lambda.answer = { status: 200, ...reply };

    const { code, stdout, stderr } = await runCli(['process', '--function', 'f'], { env: aws });

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it('exits with 7 when Lambda is unreachable', async () => {
    const env = { ...aws, AWS_ENDPOINT_URL_LAMBDA: 'http://127.0.0.1:1' };

    const { code, stderr } = await runCli(['process', '--function', 'f'], { env });

    expect(code).toBe(7);
    expect(stderr).toContain('cannot reach Lambda: connection refused');
  });
});

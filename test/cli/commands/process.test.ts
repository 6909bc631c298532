import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeState } from '../../../local/state.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';
import { openFakeLambda } from './fake-lambda.ts';

const DATABASE = 'postgres://me@127.0.0.1:1/one';
const lambda = await openFakeLambda('{"claimed":3,"sent":2}');
const { endpoint, env: aws, invocations } = lambda;

/** A folder whose stack is this very process. */
async function stack(): Promise<string> {
  const folder = await temporaryFolder();
  const nowhere = 'http://127.0.0.1:1';
  await writeState(folder, {
    ...{ pid: process.pid, databaseUrl: DATABASE, lambdaEndpoint: endpoint, sqsEndpoint: nowhere, handlers: [] },
    ...{ mailFolder: join(folder, 'mails'), smtpUrl: 'smtp://127.0.0.1:1', filesUrl: nowhere, apiUrl: nowhere },
  });
  return folder;
}

const invoked = (name: string) => [{ path: `/2015-03-31/functions/${name}/invocations`, event: { nudge: true } }];

describe('process', () => {
  it('has the dispatcher of the running stack make a round, and tells what it did', async () => {
    const { code, stdout, stderr } = await runCli(['process'], { cwd: await stack() });

    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'claimed\t3\nsent\t2\n', stderr: '' });
    expect(invocations).toEqual(invoked('millrace-local-dispatcher'));
  });

  it.each([
    ['the flag', ['--function', 'a-dispatcher'], { MILLRACE_DISPATCHER_FUNCTION: 'another' }],
    ['the environment', [], { MILLRACE_DISPATCHER_FUNCTION: 'a-dispatcher' }],
  ])('asks the one on AWS that %s names', async (_what, args, env) => {
    const { code, stdout } = await runCli(['process', '--json', ...args], { env: { ...aws, ...env } });

    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"claimed":3,"sent":2}\n' });
    expect(invocations).toEqual(invoked('a-dispatcher'));
  });

  it('asks nobody when the database is not that of the stack', async () => {
    const elsewhere = 'postgres://me@127.0.0.1:1/two';

    const { code, stderr } = await runCli(['process', '--database-url', elsewhere], { cwd: await stack() });

    expect(code).toBe(2);
    expect(stderr).toContain('works on another database than 127.0.0.1:1/two: name the dispatcher with --function');
    expect(invocations).toEqual([]);
  });

  it('says how to name one where no stack runs', async () => {
    const { code, stderr } = await runCli(['process'], { cwd: await temporaryFolder() });

    expect(code).toBe(7);
    expect(stderr).toContain('or name a dispatcher on AWS with --function');
  });

  it.each([
    ['is missing', { status: 404, type: 'ResourceNotFoundException' }, 3, 'there is no such function'],
    [
      'is forbidden',
      { status: 403, type: 'AccessDeniedException' },
      4,
      'Lambda does not allow it: these AWS credentials lack the right',
    ],
    ['is throttled', { status: 429, type: 'TooManyRequestsException' }, 1, 'it is throttled'],
  ])('says so when the function %s', async (_what, { status, type }, code, sentence) => {
    lambda.answer = { status, headers: { 'x-amzn-errortype': type }, body: '{}' };

    const ended = await runCli(['process', '--json', '--function', 'f'], { env: aws });

    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).toContain(`f: ${sentence}`);
  });

  it.each([
    ['it fails', { headers: { 'x-amz-function-error': 'Unhandled' }, body: '{"errorMessage":"boom"}' }, 'boom'],
    ['it is no dispatcher', { body: 'null' }, 'is it the dispatcher?'],
  ])('says so when %s', async (_what, reply, sentence) => {
    lambda.answer = { status: 200, ...reply };

    const { code, stdout, stderr } = await runCli(['process', '--function', 'f'], { env: aws });

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  it('tells Lambda that is out of reach from one that refuses', async () => {
    const env = { ...aws, AWS_ENDPOINT_URL_LAMBDA: 'http://127.0.0.1:1' };

    const { code, stderr } = await runCli(['process', '--function', 'f'], { env });

    expect(code).toBe(7);
    expect(stderr).toContain('cannot reach Lambda: nothing listens there');
  });
});

import { expect, it } from 'vitest';
import { runCli } from '../run-cli.ts';
import { openFakeLambda } from './fake-lambda.ts';

const KEY = {
  ...{ id: '1', name: 'ops', scopes: ['jobs:read'], created_at: '2030-01-31T12:00:00.000Z', expires_at: null },
  ...{ revoked_at: null, last_used_at: null, made_by: null, secret: 'millrace_1_x' },
};
const lambda = await openFakeLambda(JSON.stringify(KEY));
const { env, invocations } = lambda;

const create = (...args: string[]) =>
  runCli(['keys', 'create', 'ops', '--scope', 'jobs:read', '--stage', 'prod', ...args], { env });

it('keys create --stage creates a key through the API function, without a database or another key', async () => {
  const { code, stdout, stderr } = await create('--expires', '2h');

  expect(invocations).toEqual([
    {
      path: '/2015-03-31/functions/millrace-prod-api/invocations',
      event: { create_key: { name: 'ops', scopes: ['jobs:read'], expires_in: '7200s' } },
    },
  ]);
  expect(code).toBe(0);
  expect(stdout).toContain('secret\tmillrace_1_x\n');
  expect(stderr).toContain('not shown again');
});

it('keys create --stage prints the key and its secret as JSON', async () => {
  const { stdout } = await create('--json');

  expect(JSON.parse(stdout)).toEqual(KEY);
});

it.each([
  ['does not exist', { status: 404, headers: { 'x-amzn-ErrorType': 'ResourceNotFoundException' }, body: '{}' }, 3],
  ['is denied by IAM', { status: 403, headers: { 'x-amzn-ErrorType': 'AccessDeniedException' }, body: '{}' }, 4],
  ['fails', { status: 200, headers: { 'x-amz-function-error': 'Unhandled' }, body: '{"errorMessage":"no"}' }, 1],
  ['belongs to an older release', { status: 200, body: '{"statusCode":404}' }, 1],
])('keys create --stage reports a function that %s', async (_case, given, expected) => {
  lambda.answer = given;

  const { code, stdout, stderr } = await create();

  expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
  expect(stderr).toMatch(/error: millrace-prod-api:? /);
});

it('keys create --stage says why a stage creates no keys', async () => {
  lambda.answer = { status: 200, body: '{"refused":"this API reads no API keys"}' };

  const { code, stderr } = await create();

  expect(code).toBe(5);
  expect(stderr).toContain('error: millrace-prod-api: this API reads no API keys\n');
});

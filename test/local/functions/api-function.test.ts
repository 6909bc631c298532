import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startApi } from '../../../local/functions/api-function.ts';
import { apiBundle } from '../../../local/functions/bundling.ts';
import type { Runner } from '../../../local/lambda/runner.ts';
import type { FunctionSpec } from '../../../local/lambda/specs.ts';
import type { StartServer } from '../../../local/processes/kept-ports.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const startServer: StartServer = (_name, start) => start(0);

/** Starts the API of a project with these variables, and returns the environment of its function. */
async function environmentWith(variables: Readonly<Record<string, string | undefined>>) {
  const bundles = await temporaryFolder();
  await mkdir(dirname(apiBundle(bundles)));
  await writeFile(apiBundle(bundles), '');
  const added: FunctionSpec[] = [];
  const runner = { addFunction: (spec: FunctionSpec) => added.push(spec) } as unknown as Runner;
  const settings = async () => ({ environment: {}, variables });
  const api = await startApi({ runner, bundles, environment: {}, settings, startServer });
  onTestFinished(() => api.close());
  return added[0]?.environment;
}

it.each([
  [{}, 'none'],
  [{ MILLRACE_API_AUTH: 'api-key' }, 'api-key'],
])('the API of a project with %o uses %s', async (variables, auth) => {
  expect(await environmentWith(variables)).toMatchObject({ MILLRACE_API_AUTH: auth });
});

const TOKENS = { MILLRACE_API_JWT_ISSUER: 'http://localhost:8080/realm', MILLRACE_API_JWT_AUDIENCE: 'jobs' };

it('verifies tokens in the gateway, or in the function if the project sets keys or algorithms', async () => {
  const jwt = { MILLRACE_API_AUTH: 'jwt', ...TOKENS };
  const keys = { MILLRACE_API_JWT_JWKS: 'https://issuer.example/keys', MILLRACE_API_JWT_ALGORITHMS: 'ES256' };

  expect(await environmentWith(jwt)).toMatchObject({ MILLRACE_API_AUTH: 'gateway-jwt', ...TOKENS });
  expect(await environmentWith({ ...jwt, ...keys })).toMatchObject({ ...jwt, ...keys });
});

it.each([
  [{ MILLRACE_API_AUTH: 'basic' }, 'MILLRACE_API_AUTH: expected none, api-key or jwt on this machine, got "basic"'],
  [{ MILLRACE_API_AUTH: 'iam' }, /^MILLRACE_API_AUTH: .*nothing verifies the signatures of AWS, got "iam"/],
  [{ MILLRACE_API_AUTH: 'jwt' }, /^MILLRACE_API_JWT_ISSUER/],
  [{ MILLRACE_API_AUTH: 'jwt', ...TOKENS, MILLRACE_API_JWT_AUDIENCE: undefined }, /^MILLRACE_API_JWT_AUDIENCE/],
  [
    { MILLRACE_API_AUTH: 'jwt', ...TOKENS, MILLRACE_API_JWT_ISSUER: 'http://issuer.example' },
    /^MILLRACE_API_JWT_ISSUER: expected an https:/,
  ],
  [{ MILLRACE_API_AUTH: 'jwt', ...TOKENS, MILLRACE_API_JWT_ISSUER: 'issuer' }, /^MILLRACE_API_JWT_ISSUER/],
  [{ MILLRACE_API_AUTH: 'jwt', ...TOKENS, MILLRACE_API_JWT_ALGORITHMS: 'HS256' }, /^MILLRACE_API_JWT_ALGORITHMS/],
])('refuses to start the API of a project with %o', async (variables, message) => {
  await expect(environmentWith(variables)).rejects.toThrow(message);
});

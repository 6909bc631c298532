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
async function environmentWith(variables: Readonly<Record<string, string>>) {
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

it('refuses to start the API with any other way to authenticate', async () => {
  await expect(environmentWith({ MILLRACE_API_AUTH: 'jwt' })).rejects.toThrow(
    'MILLRACE_API_AUTH: expected none or api-key on this machine, got "jwt"',
  );
});

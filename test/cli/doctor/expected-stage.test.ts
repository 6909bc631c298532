import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { findExpectedStage } from '../../../cli/doctor/expected-stage.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';

const HANDLERS = join(import.meta.dirname, '../../../functions/handlers');

/** Makes a project with this context in its `cdk.json`. */
async function makeProject(context: object): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'package.json'), '{}');
  await writeFile(join(folder, 'cdk.json'), JSON.stringify({ context }));
  return folder;
}

/** Makes such a project the current folder for the test. */
async function enterProject(context: object): Promise<string> {
  const folder = await makeProject(context);
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
  onTestFinished(() => void vi.restoreAllMocks());
  return folder;
}

it('doctor reads the folder of a stage and its variables from cdk.json', async () => {
  const prod = { handlers: HANDLERS, settings: { MILLRACE_MAX_ATTEMPTS: '9' } };
  await enterProject({ handlers: 'elsewhere', stages: { dev: {}, prod } });

  const expected = await findExpectedStage({ stage: 'prod' });

  expect(expected?.catalog.handlers.map(({ definition }) => definition.maxAttempts)).toEqual([9, 9]);
  expect(expected?.deploy).toBe('npx cdk deploy -c stage=prod --revert-drift');
});

it.each<[object, readonly (boolean | undefined)[]]>([
  [{ stages: { prod: { tracing: 'on' } } }, [true, true]],
  [{ stages: { prod: {} } }, [false, false]],
  [{ tracing: 'on' }, [true, true]],
  // An option of the deployment may have switched it on.
  [{}, [undefined, undefined]],
])('doctor reads the tracing of a stage from cdk.json: %j', async (context, tracing) => {
  await enterProject(context);

  const expected = await findExpectedStage({ stage: 'prod', handlers: HANDLERS });

  expect(expected?.catalog.handlers.map(({ definition }) => definition.aws?.tracing)).toEqual(tracing);
});

it('without a list of stages, the command to deploy has the folder, and names the other options', async () => {
  await enterProject({ stage: 'dev' });

  const expected = await findExpectedStage({ stage: 'prod', handlers: HANDLERS });

  expect(expected?.deploy).toBe(
    `with all -c options of the last deployment, run npx cdk deploy -c stage=prod -c handlers=${HANDLERS} --revert-drift`,
  );
});

it.each([
  ['doctor', '--stage', 'staging'],
  ['keys', 'create', 'ops', '--scope', 'admin', '--stage', 'staging'],
])('%s refuses a stage that cdk.json does not list', async (...args) => {
  const folder = await makeProject({ stages: { dev: {}, prod: {} } });

  const { code, stderr } = await runCli(args, { cwd: folder });

  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `error: stage: expected one of the stages in cdk.json (dev, prod), got "staging" (${folder}/cdk.json)\n`,
  });
});

it('doctor names the folder in cdk.json that does not exist', async () => {
  const folder = await enterProject({ stages: { prod: { handlers: 'missing' } } });

  await expect(findExpectedStage({ stage: 'prod' })).rejects.toThrow(
    `handlers of prod in cdk.json: the folder ${folder}/missing does not exist`,
  );
});

it('doctor expects a stage to have the variables of its own environment', async () => {
  vi.stubEnv('MILLRACE_JOB_TIMEOUT_make_thumbnail', '2m');
  vi.stubEnv('MILLRACE_MAX_ATTEMPTS', '7');
  onTestFinished(() => void vi.unstubAllEnvs());

  const expected = await findExpectedStage({ stage: 'dev', handlers: 'functions/handlers' });

  const found = expected?.catalog.handlers.map(({ definition: { timeoutSeconds, maxAttempts } }) => {
    return { timeoutSeconds, maxAttempts };
  });
  expect(found).toEqual([
    { timeoutSeconds: 120, maxAttempts: 7 },
    { timeoutSeconds: 30, maxAttempts: 7 },
  ]);
});

it('doctor refuses an invalid variable by its name', async () => {
  vi.stubEnv('MILLRACE_RETRY_DELAY', 'soon');
  onTestFinished(() => void vi.unstubAllEnvs());

  const found = findExpectedStage({ stage: 'dev', handlers: 'functions/handlers' });

  await expect(found).rejects.toThrow('MILLRACE_RETRY_DELAY: expected a duration');
});

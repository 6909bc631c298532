import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { checkDeployment } from '../../../cli/doctor/check-deployment.ts';
import { checkRegistry } from '../../../cli/doctor/examine-database.ts';
import { runCli } from '../run-cli.ts';
import { catalog, type DeployedWorld, openDeployedWorld, ROOT } from './deployed-world.ts';
import { DIFFERENCES } from './doctor-differences.ts';

let world: DeployedWorld;

beforeAll(async () => {
  world = await openDeployedWorld();
  for (const [name, value] of Object.entries(world.env)) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await world.close();
});

/** What is found wrong: check and sentence. */
async function wrongIn(stage: string): Promise<string[]> {
  const deployment = { stage, address: undefined, catalog, deploy: 'npx cdk deploy' };
  const findings = [await checkRegistry(world.db, deployment), ...(await checkDeployment(deployment))];
  return findings.filter(({ ok }) => !ok).map(({ check, detail }) => `${check}: ${detail}`);
}

describe('what is deployed', () => {
  it('is fine when it is what the code says', async () => {
    const { stage } = await world.deploy();

    expect(await wrongIn(stage)).toEqual([]);
  });

  it.each(DIFFERENCES)('is found to have %s', async (_what, change, said) => {
    const stage = await world.deploy();
    await change(stage, world);

    expect(await wrongIn(stage.stage)).toEqual([said(stage)]);
  });

  it('may have no API', async () => {
    const { stage } = await world.deploy();
    world.aws.functions.delete(`millrace-${stage}-api`);

    expect(await wrongIn(stage)).toEqual([]);
  });

  it('is found to lack what a file would be that gives no handler', async () => {
    const { stage } = await world.deploy();
    const broken = { ...catalog, failures: [{ file: '/x/functions/handlers/bad.ts', line: 3, message: 'Error: no' }] };

    const findings = await checkDeployment({ stage, address: undefined, catalog: broken, deploy: '' });

    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'code', ok: false, detail: 'functions/handlers/bad.ts:3: Error: no' }),
    );
  });
});

describe('doctor --stage', () => {
  const doctor = (stage: string, ...args: string[]) =>
    runCli(['doctor', '--stage', stage, ...args], { cwd: ROOT, env: world.env });

  it('holds it against the files of a folder that is named', async () => {
    const { stage } = await world.deploy();

    const same = await doctor(stage, '--handlers', `${ROOT}/functions/handlers`);
    const none = await doctor(stage, '--handlers', '/nowhere');

    expect(same.code).toBe(0);
    expect(none).toMatchObject({ code: 2, stdout: '', stderr: 'error: --handlers: there is no folder /nowhere\n' });
  });

  it('says how the stage stands without its database', async () => {
    const { stage } = await world.deploy();

    const { code, stdout, stderr } = await doctor(stage);

    expect(stdout).not.toContain('FAIL');
    expect(stdout).toMatch(/^OK\tschedules\tas the code says$/m);
    expect(stderr).toContain('the database is not looked at: name it with --database-url');
    expect(code).toBe(0);
  });

  it('ends with 8 and the command that mends it', async () => {
    const { stage, name } = await world.deploy();
    world.aws.mappings.delete(name);

    const { code, stdout } = await doctor(stage, '--database-url', world.database.url);

    expect(stdout).toMatch(
      new RegExp(`^FAIL\tmappings\t${name}: no mapping.*: npx cdk deploy -c stage=${stage} --revert-drift$`, 'm'),
    );
    expect(stdout).toMatch(/^OK\tregistry\tas the code says$/m);
    expect(code).toBe(8);
  });

  it.each([
    [7, { AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:1' }, 'cannot reach SQS'],
    [2, {}, 'no functions/handlers here or above'],
  ])('ends with %i when it cannot look', async (expected, change, sentence) => {
    const cwd = expected === 2 ? '/' : ROOT;

    const { code, stdout, stderr } = await runCli(['doctor', '--stage', 'dev'], {
      cwd,
      env: { ...world.env, ...change },
    });

    expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
    expect(stderr).toContain(sentence);
  });
});

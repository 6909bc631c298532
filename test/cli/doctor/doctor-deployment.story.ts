import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { checkDeployment } from '../../../cli/doctor/check-deployment.ts';
import { checkHome, checkRegistry } from '../../../cli/doctor/examine-database.ts';
import { runCli } from '../run-cli.ts';
import { catalog, type DeployedWorld, openDeployedWorld, ROOT } from './deployed-world.ts';
import { DIFFERENCES } from './doctor-differences.ts';

let world: DeployedWorld;
let project: string;

beforeAll(async () => {
  world = await openDeployedWorld();
  project = await mkdtemp(join(tmpdir(), 'millrace-doctor-'));
  await writeFile(join(project, 'package.json'), '{}');
  // The names of the stages of the world.
  const stages = Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`s${index + 1}`, {}]));
  const context = { handlers: join(ROOT, 'functions/handlers'), stages };
  await writeFile(join(project, 'cdk.json'), JSON.stringify({ context }));
  for (const [name, value] of Object.entries(world.env)) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await world.close();
  await rm(project, { recursive: true });
});

/** Returns the failed checks, with their sentences. */
async function wrongIn(stage: string): Promise<string[]> {
  const deployment = { stage, address: undefined, catalog, deploy: 'npx cdk deploy' };
  const findings = [await checkRegistry(world.db, deployment), ...(await checkDeployment(deployment))];
  return findings.filter(({ ok }) => !ok).map(({ check, detail }) => `${check}: ${detail}`);
}

describe('a deployed stage', () => {
  it('passes when it matches the code', async () => {
    const { stage } = await world.deploy();

    expect(await wrongIn(stage)).toEqual([]);
  });

  it.each(DIFFERENCES)('fails with %s', async (_what, change, said) => {
    const stage = await world.deploy();
    await change(stage, world);

    expect(await wrongIn(stage.stage)).toEqual([said(stage)]);
  });

  it('fails for the database of another stage or region', async () => {
    const { stage } = await world.deploy();
    const check = (of: string) => checkHome(world.db, { stage: of, address: undefined, catalog, deploy: '' });

    const [own, other] = [await check(stage), await check('other')];
    await world.db.query(`update millrace.installation set account = '123456789012', region = 'eu-north-1'`);
    const elsewhere = await check(stage);

    expect(own).toMatchObject({ ok: true });
    expect(other).toMatchObject({ ok: false, detail: `the database belongs to ${stage}` });
    expect(elsewhere).toMatchObject({
      ok: false,
      detail: `the database belongs to ${stage} in the account 123456789012 and region eu-north-1`,
    });
  });

  it('passes without an API', async () => {
    const { stage } = await world.deploy();
    world.aws.functions.delete(`millrace-${stage}-api`);

    expect(await wrongIn(stage)).toEqual([]);
  });

  it('fails for a file that does not define a handler', async () => {
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
    runCli(['doctor', '--stage', stage, ...args], { cwd: project, env: world.env });

  it('compares the stage with the handler files of a named folder', async () => {
    const { stage } = await world.deploy();

    const same = await doctor(stage, '--handlers', `${ROOT}/functions/handlers`);
    const none = await doctor(stage, '--handlers', '/nowhere');

    expect(same.code).toBe(0);
    expect(none).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: --handlers: the folder /nowhere does not exist\n',
    });
  });

  it('checks the stage without its database', async () => {
    const { stage } = await world.deploy();

    const { code, stdout, stderr } = await doctor(stage);

    expect(stdout).not.toContain('FAIL');
    expect(stdout).toMatch(/^OK\tschedules\tmatches the code$/m);
    expect(stderr).toContain('the database is not checked: name it with --database-url');
    expect(code).toBe(0);
  });

  it('exits with 8 and prints the command that repairs the stage', async () => {
    const { stage, name } = await world.deploy();
    world.aws.mappings.delete(name);

    const { code, stdout } = await doctor(stage, '--database-url', world.database.url);

    expect(stdout).toMatch(
      new RegExp(`^FAIL\tmappings\t${name} has no mapping.*: npx cdk deploy -c stage=${stage} --revert-drift$`, 'm'),
    );
    expect(stdout).toMatch(/^OK\tregistry\tmatches the code$/m);
    expect(code).toBe(8);
  });

  it('exits with 2 without handler files', async () => {
    const { code, stdout, stderr } = await runCli(['doctor', '--stage', 'dev'], { cwd: '/', env: world.env });

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('no jobs or functions/handlers in this folder or above it');
  });
});

describe('doctor --stage reports what it cannot check, and checks the rest', () => {
  const failed = (stdout: string) => [...stdout.matchAll(/^FAIL\t(.*?)\t/gm)].map(([, check]) => check);
  const passed = (stdout: string) => [...stdout.matchAll(/^OK\t(.*?)\t/gm)].map(([, check]) => check);

  it.each([
    ['SQS', { AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:1' }, ['queues', 'dead-letter queues']],
    ['Lambda', { AWS_ENDPOINT_URL_LAMBDA: 'http://127.0.0.1:1' }, ['functions', 'mappings', 'other functions']],
    ['Lambda', { AWS_ENDPOINT_URL_SCHEDULER: 'http://127.0.0.1:1' }, ['schedules']],
  ])('when it cannot reach %s: %j', async (service, change, checks) => {
    const { stage } = await world.deploy();
    const env = { ...world.env, ...change };

    const { code, stdout } = await runCli(['doctor', '--stage', stage], { cwd: project, env });

    expect(code).toBe(8);
    expect(failed(stdout)).toEqual(checks);
    expect(passed(stdout)).toHaveLength(7 - checks.length);
    expect(stdout).toContain(`cannot reach ${service}: connection refused`);
    expect(stdout).toMatch(/not checked: .*: check the address, the network and that the server runs/);
  });

  it('when one function cannot be read', async () => {
    const { stage, name } = await world.deploy();
    world.aws.functions.delete(`millrace-${stage}-api`);
    world.aws.refused.add(name);

    const { code, stdout } = await runCli(['doctor', '--stage', stage], { cwd: project, env: world.env });

    expect(code).toBe(8);
    expect(failed(stdout)).toEqual(['functions']);
    expect(stdout).toContain(`FAIL\tfunctions\tnot checked: ${name}: access denied`);
  });

  it('when it cannot reach the database', async () => {
    const { stage } = await world.deploy();
    const args = ['doctor', '--stage', stage, '--database-url', 'postgres://127.0.0.1:1/none'];

    const { code, stdout } = await runCli(args, { cwd: project, env: world.env });

    expect(code).toBe(8);
    expect(failed(stdout)).toEqual(['connection']);
    expect(passed(stdout)).toHaveLength(7);
    expect(stdout).toMatch(/^FAIL\tconnection\tnot checked: cannot reach .*: connection refused: check the address/m);
  });
});

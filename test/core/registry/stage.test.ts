import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { ownMigrations } from '../../../core/postgres/migration-files.ts';
import { type Preparation, prepareDatabase, writeRegistry } from '../../../core/registry/prepare.ts';
import type { Home } from '../../../core/registry/stage.ts';
import { openEngine, recordLog, registrationsOf } from '../../support/runtime-engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const engine = await openEngine();
const { pool, db } = engine;
const owner = openDatabase({ connectionString: engine.test.url, max: 1, name: 'owner', log: recordLog() });
afterAll(async () => {
  await owner.close();
  await engine.close();
});

const log = recordLog();
const catalog = registrationsOf([{ jobType: 'mail' }, { jobType: 'report' }]).map(({ definition }) => definition);
const queueUrlPrefix = 'https://sqs.eu-central-1.amazonaws.com/000000000000/';
const register = (stage: string, handlers = catalog) =>
  writeRegistry(db, handlers, { home: { stage }, queueUrlPrefix, log });
const prepare = (stage: string, folder = ownMigrations(), given: Partial<Preparation> = {}) =>
  prepareDatabase({
    ...{ db: owner, home: { stage }, migration: { connectionString: engine.test.url, folder } },
    ...{ logins: [], catalog, drain: [], log },
    ...given,
  });
const functions = async () =>
  (await pool.query('select function_name from millrace.handlers order by 1')).rows.map((row) => row.function_name);

beforeEach(async () => {
  await pool.query('select millrace.renew_epoch()');
});

const epochAndStage = async () => (await pool.query('select epoch, stage from millrace.installation')).rows[0];

it('a database belongs to the stage of its first deployment, and refuses another, which changes nothing', async () => {
  await register('prod');
  const before = [await functions(), await epochAndStage()];
  const expected = {
    name: 'RegistryError',
    message: expect.stringMatching(/belongs to the stage prod, and a deployment of staging .*renew_epoch/),
  };

  await expect(register('staging')).rejects.toMatchObject(expected);
  await expect(register('staging', [])).rejects.toMatchObject(expected);
  await expect(prepare('staging')).rejects.toMatchObject(expected);

  expect([await functions(), await epochAndStage()]).toEqual(before);
  expect(before[1]).toMatchObject({ stage: 'prod' });
});

it('a deployment of a different stage is refused before it migrates the database', async () => {
  await register('prod');
  const folder = await temporaryFolder();
  await cp(ownMigrations(), folder, { recursive: true });
  await writeFile(join(folder, '9998_other.sql'), 'create table millrace.other ();');

  const preparing = prepare('staging', folder);

  await expect(preparing).rejects.toMatchObject({ code: 'MILLRACE_REGISTRY' });
  expect((await pool.query(`select to_regclass('millrace.other') as other`)).rows).toEqual([{ other: null }]);
});

it('one of two stages that deploy at the same time gets the database', async () => {
  const stages = ['staging', 'prod', 'staging', 'prod'];

  const results = await Promise.allSettled(
    stages.map(async (stage) => {
      await register(stage);
      return stage;
    }),
  );
  const accepted = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const { stage } = await epochAndStage();

  expect(accepted).toEqual([stage, stage]);
});

it('a restored copy belongs to the stage that deploys next, with a new epoch', async () => {
  await register('prod');
  const before = await epochAndStage();

  await pool.query('select millrace.renew_epoch()');
  const between = await epochAndStage();
  await prepare('staging');
  await register('staging');

  expect(between).toEqual({ epoch: expect.not.stringMatching(before.epoch), stage: null });
  expect(await epochAndStage()).toEqual({ epoch: between.epoch, stage: 'staging' });
  expect(await functions()).toEqual(['millrace-staging-mail', 'millrace-staging-report']);
});

it('a stage deploys again, and an older release too', async () => {
  await register('prod');

  await prepare('prod');
  await register('prod', catalog.slice(0, 1));

  expect(await functions()).toEqual(['millrace-prod-mail']);
});

const AT = { account: '123456789012', region: 'eu-west-1' };
const home = async () => (await pool.query('select stage, account, region from millrace.installation')).rows[0];
const prepareAt = (given: Home, takeOver?: string) => prepare('', ownMigrations(), { home: given, takeOver });

it.each([
  ['account', { ...AT, account: '210987654321' }],
  ['region', { ...AT, region: 'eu-north-1' }],
])('refuses the same stage in another %s', async (_which, other) => {
  await prepareAt({ stage: 'prod', ...AT });

  await expect(prepareAt({ stage: 'prod', ...other })).rejects.toThrow(
    'this database belongs to the stage prod in the account 123456789012 and region eu-west-1, and a deployment of ' +
      `prod in the account ${other.account} and region ${other.region} would replace its handlers: give prod`,
  );

  expect(await home()).toEqual({ stage: 'prod', ...AT });
});

it('belongs to its stage once it is prepared, and knows the account after a deployment that names it', async () => {
  await prepare('prod');
  const before = await home();

  await prepareAt({ stage: 'prod', ...AT });
  await writeRegistry(db, catalog, { home: { stage: 'prod', ...AT }, queueUrlPrefix, log });

  expect(before).toEqual({ stage: 'prod', account: null, region: null });
  expect(await home()).toEqual({ stage: 'prod', ...AT });
});

it('a deployment takes over the database of the stage that it names, with a new epoch', async () => {
  await prepareAt({ stage: 'prod', ...AT });
  const { epoch } = await epochAndStage();

  await expect(prepareAt({ stage: 'staging', ...AT }, 'dev')).rejects.toThrow('-c stage=staging -c takeOver=prod');
  await prepareAt({ stage: 'staging', ...AT }, 'prod');
  const taken = await epochAndStage();
  await prepareAt({ stage: 'staging', ...AT }, 'staging');

  expect(taken).toEqual({ epoch: expect.not.stringMatching(epoch), stage: 'staging' });
  expect(await epochAndStage()).toEqual(taken);
});

it('a deployment that is refused for another reason takes over nothing', async () => {
  await prepareAt({ stage: 'prod', ...AT });
  await writeRegistry(db, catalog, { home: { stage: 'prod', ...AT }, queueUrlPrefix, log });
  await pool.query(`insert into millrace.jobs (job_type, payload) values ('mail', '{}')`);

  const taking = prepare('', ownMigrations(), { home: { stage: 'dev', ...AT }, takeOver: 'prod', catalog: [] });

  await expect(taking).rejects.toMatchObject({ code: 'MILLRACE_REMOVAL' });
  expect(await home()).toEqual({ stage: 'prod', ...AT });
});

import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { ownMigrations } from '../../../core/postgres/migration-files.ts';
import { prepareDatabase, writeRegistry } from '../../../core/registry/prepare.ts';
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
const register = (stage: string, handlers = catalog) => writeRegistry(db, handlers, { stage, queueUrlPrefix, log });
const prepare = (stage: string, folder = ownMigrations()) =>
  prepareDatabase({
    ...{ db: owner, stage, migration: { connectionString: engine.test.url, folder } },
    ...{ logins: [], catalog, drain: [], log },
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

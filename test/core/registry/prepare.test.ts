import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler } from '../../../core/handler/handler.ts';
import { type Database, openDatabase } from '../../../core/postgres/database.ts';
import { ownMigrations } from '../../../core/postgres/migration-files.ts';
import { prepareDatabase, writeRegistry } from '../../../core/registry/prepare.ts';
import { createDatabase } from '../../support/database.ts';
import { insertJobs, recordLog } from '../../support/runtime-engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const database = await createDatabase({ migrated: false });
const { pool } = database;
const log = recordLog();
const db: Database = openDatabase({ connectionString: database.url, max: 1, name: 'test', log });
const login = `deployed_${new URL(database.url).pathname.slice(1)}`;

const handlerOf = (jobType: string, routingKey = '') =>
  defineHandler({ jobType, routingKey, payload: z.unknown(), timeout: 30, run: async () => undefined });
const mail = handlerOf('mail');
const vector = handlerOf('index', 'vector');
const registration = {
  ...{ home: { stage: 'prod' }, queueUrlPrefix: 'https://sqs.eu-central-1.amazonaws.com/000000000000/' },
  log,
};

afterAll(async () => {
  await db.close();
  await pool.query(`drop owned by ${login}`);
  await pool.query(`drop role ${login}`);
  await database.drop();
});

beforeEach(async () => {
  await prepare({ catalog: [mail, vector], drain: ['mail', 'index.vector'] });
  await pool.query('delete from millrace.jobs_live');
  await writeRegistry(db, [mail, vector], registration);
});

function prepare(release: Partial<Parameters<typeof prepareDatabase>[0]> = {}) {
  return prepareDatabase({
    db,
    home: { stage: 'prod' },
    migration: { connectionString: database.url },
    logins: [{ name: login, password: 'first', role: 'millrace_runtime' }],
    catalog: [mail, vector],
    drain: [],
    log,
    ...release,
  });
}

const registered = async () =>
  (await pool.query('select job_type, queue_url, function_name from millrace.handlers order by job_type')).rows;
const states = async () => (await pool.query('select status from millrace.jobs order by id')).rows;

it('creates the login of the functions, whose idle connections time out', async () => {
  const url = new URL(database.url);
  url.username = login;
  url.password = 'first';
  const client = new pg.Client(url.href);
  await client.connect();

  const { rows } = await client.query(`select current_setting('idle_session_timeout') as idle,
    pg_has_role('millrace_runtime', 'usage') as runtime`);
  await client.end();

  expect(rows).toEqual([{ idle: '10min', runtime: true }]);
});

it('writes the registry with the addresses of the stage, and is idempotent', async () => {
  const before = await registered();

  await prepare();
  await writeRegistry(db, [mail, vector], registration);

  expect(await registered()).toEqual(before);
  expect(before).toEqual([
    {
      job_type: 'index',
      queue_url: 'https://sqs.eu-central-1.amazonaws.com/000000000000/millrace-prod-index-vector',
      function_name: 'millrace-prod-index-vector',
    },
    {
      job_type: 'mail',
      queue_url: 'https://sqs.eu-central-1.amazonaws.com/000000000000/millrace-prod-mail',
      function_name: 'millrace-prod-mail',
    },
  ]);
});

it('refuses to remove the handler of unfinished jobs, with their number and the alternatives', async () => {
  await insertJobs(pool, 'mail', 3);
  await pool.query(`insert into millrace.jobs (job_type, routing_key, payload) values ('index', 'vector', '{}')`);

  const preparing = prepare({ catalog: [], drain: ['index.vector'] });

  await expect(preparing).rejects.toThrow(
    'mail has 3 unfinished jobs: keep the file until these jobs have finished or are cancelled, or deploy with ' +
      '-c stage=prod -c drain=mail and leave them to become dead letters after 24 hours',
  );
});

it('names every such handler in the format of the setting', async () => {
  await insertJobs(pool, 'mail', 1);
  await pool.query(`insert into millrace.jobs (job_type, routing_key, payload) values ('index', 'vector', '{}')`);

  const preparing = prepare({ catalog: [] });

  await expect(preparing).rejects.toThrow('index.vector has 1 unfinished job, mail has 1 unfinished job: ');
  await expect(preparing).rejects.toThrow('-c stage=prod -c drain=index.vector,mail ');
});

it('allows the removal of a handler that has only dead letters', async () => {
  await insertJobs(pool, 'mail', 1);
  await pool.query(`update millrace.jobs_live set status = 'dead_letter'`);

  await prepare({ catalog: [vector] });
  await writeRegistry(db, [vector], registration);

  expect(await registered()).toMatchObject([{ job_type: 'index' }]);
});

it('keeps the jobs of a drained handler until it is deployed again', async () => {
  await insertJobs(pool, 'mail', 2);
  await prepare({ catalog: [vector], drain: ['mail'] });
  await writeRegistry(db, [vector], registration);
  const meanwhile = await states();
  await prepare({ catalog: [vector], drain: [] });

  await prepare();
  await writeRegistry(db, [mail, vector], registration);

  expect(meanwhile).toEqual([{ status: 'pending' }, { status: 'pending' }]);
  expect(await states()).toEqual(meanwhile);
  expect(await registered()).toMatchObject([{ job_type: 'index' }, { job_type: 'mail' }]);
});

it('accepts an older release on the database of a newer one', async () => {
  const folder = await temporaryFolder();
  await cp(ownMigrations(), folder, { recursive: true });
  await writeFile(join(folder, '9999_newer.sql'), 'alter table millrace.handlers add column newer integer;');
  await prepare({ migration: { connectionString: database.url, folder } });

  await prepare();
  await writeRegistry(db, [mail], registration);

  expect(log.events('migrations_ahead')).toMatchObject([{ migrations: ['9999_newer'] }]);
  expect(await registered()).toMatchObject([{ job_type: 'mail' }]);
});

import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../core/postgres/database.ts';
import { ensureLogin } from '../../../core/postgres/ensure-login.ts';
import { openOwnServers } from '../../support/own-servers.ts';
import { recordLog } from '../../support/runtime-engine.ts';

const servers = openOwnServers();
const PASSWORD = 'Pässwort-that-no-log-may-contain';

/** Creates a login twice as an owner who has only CREATEROLE, and returns what the server has logged. */
async function logOf(settings: Readonly<Record<string, string>>, given: (admin: pg.Client) => Promise<unknown>) {
  const folder = await servers.newFolder();
  const { url } = await servers.start(folder);
  const admin = new pg.Client(url);
  await admin.connect();
  onTestFinished(() => admin.end());
  await admin.query(`create role deployer login createrole password 'x'; create role millrace_runtime;
    grant millrace_runtime to deployer with admin option`);
  for (const [name, value] of Object.entries(settings)) {
    await admin.query(`alter role deployer set ${name} = '${value}'`);
  }
  await given(admin);
  const db = openDatabase({
    connectionString: url.replace(/\/\/[^@]+@/, '//deployer:x@'),
    max: 1,
    name: 'test',
    log: recordLog(),
  });
  onTestFinished(() => db.close());
  for (let time = 0; time < 2; time++) {
    await ensureLogin(db, { name: 'functions', password: PASSWORD, role: 'millrace_runtime' });
  }
  return { url, text: await readFile(`${folder}.log`, 'utf8') };
}

it('never sends a password that the server could log', async () => {
  const every = { log_statement: 'all', log_min_duration_statement: '0', log_parameter_max_length: '-1' };

  const { url, text } = await logOf(every, async () => undefined);

  expect(text).toMatch(/alter role functions login password 'SCRAM-SHA-256\$4096:/);
  expect(text).not.toContain('no-log-may-contain');
  const { hostname: host, port, pathname } = new URL(url);
  const login = { host, port: Number(port), database: pathname.slice(1), user: 'functions', password: PASSWORD };
  const functions = new pg.Client(login);
  await functions.connect();
  await functions.end();
});

it('sends no password of a login that it may not alter', async () => {
  const refused = (admin: pg.Client) => admin.query(`create role functions superuser login password 'y'`);

  const { text } = await logOf({}, refused);

  expect(text).toMatch(/STATEMENT: {2}alter role functions login password 'SCRAM-SHA-256\$4096:/);
  expect(text).not.toContain('no-log-may-contain');
});

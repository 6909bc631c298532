import { InvokeCommand } from '@aws-sdk/client-lambda';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { ownMigrations } from '../../core/postgres/migration-files.ts';
import { openDeployed } from './deployed-functions.ts';

const world = await openDeployed();
const { add, admin, invoke, lambda, secrets, server } = world;
afterAll(() => world.close());

const MIGRATIONS = { MILLRACE_MIGRATIONS: ownMigrations() };
/** The role of RDS exists, and the owner may grant it, as the administrator of RDS may. */
const LIKE_RDS = 'create role rds_iam nologin; grant rds_iam to admin with admin true, inherit false, set false';
const LOGIN = `select rolcanlogin as login, rolpassword is not null as password,
    pg_has_role(oid, 'millrace_runtime', 'member') as runtime,
    coalesce((select pg_has_role(l.oid, r.oid, 'member') from pg_roles r where r.rolname = 'rds_iam'), false) as iam
  from pg_authid l where rolname = $1`;

/** Returns the answer of a function, or the error. */
async function answerOf(name: string): Promise<string> {
  const { Payload } = await lambda.send(new InvokeCommand({ FunctionName: name, Payload: '{}' }));
  return Payload?.transformToString() ?? '';
}

it('the function that migrates answers CloudFormation, and refuses another database before it changes it', async () => {
  await admin.query('create database other owner admin');
  const owner = JSON.parse(secrets.get('owner') ?? '');
  secrets.set('other', JSON.stringify({ ...owner, dbname: 'other' }));
  const settings = { MILLRACE_MIGRATIONS: ownMigrations(), MILLRACE_RUNTIME_SECRET: 'runtime' };
  await add('migrate', 'owner', settings);
  await add('migrate', 'other', settings, 'migrate-other');
  const other = new pg.Client(new URL('/other', server.url).href);
  await other.connect();
  const schemas = async () => (await other.query("select from pg_namespace where nspname = 'millrace'")).rowCount;
  const [ours, theirs] = [{ Database: 'owner' }, { Database: 'other' }];
  const update = { RequestType: 'Update', PhysicalResourceId: 'owner' };
  const change = { ...update, ResourceProperties: theirs, OldResourceProperties: ours };
  const rollback = { ...update, ResourceProperties: ours, OldResourceProperties: theirs };

  const created = await invoke('migrate', { RequestType: 'Create', ResourceProperties: ours });
  const request = { FunctionName: 'migrate-other', Payload: JSON.stringify(change) };
  const refused = (await lambda.send(new InvokeCommand(request))).Payload?.transformToString();
  const restored = [await invoke('migrate', rollback), await invoke('migrate-other', rollback)];
  const before = await schemas();
  const moved = await invoke('migrate-other', { ...change, ResourceProperties: { ...theirs, MoveDatabase: 'owner' } });
  const removed = await invoke('migrate-other', { ...update, RequestType: 'Delete' });
  const after = await schemas();
  await other.end();

  expect([created, ...restored]).toEqual(Array(3).fill({ PhysicalResourceId: 'owner' }));
  expect(refused).toContain('would change the database of the stage test from owner to other');
  expect([before, after]).toEqual([0, 1]);
  expect([moved, removed]).toEqual([{ PhysicalResourceId: 'other' }, {}]);
});

it('a deployment with databaseLogin=iam creates a login without a password, on RDS and Aurora alone', async () => {
  await add('migrate', 'owner', { ...MIGRATIONS, MILLRACE_RUNTIME_USER: 'functions' }, 'migrate-iam');

  const elsewhere = await answerOf('migrate-iam');
  const { rowCount } = await admin.query("select from pg_roles where rolname = 'functions'");
  await admin.query(LIKE_RDS);
  for (let time = 0; time < 2; time++) await invoke('migrate-iam');

  expect(elsewhere).toContain('databaseLogin: expected password, since the server has no role rds_iam');
  expect(rowCount).toBe(0);
  const { rows } = await admin.query(LOGIN, ['functions']);
  expect(rows).toEqual([{ login: true, password: false, runtime: true, iam: true }]);
});

it('a deployment changes one login from a password to IAM and back', async () => {
  await add('migrate', 'owner', { ...MIGRATIONS, MILLRACE_RUNTIME_SECRET: 'runtime' }, 'migrate-password');
  await add('migrate', 'owner', { ...MIGRATIONS, MILLRACE_RUNTIME_USER: 'runtime' }, 'migrate-back');
  const seen: unknown[] = [];

  for (const name of ['migrate-password', 'migrate-back', 'migrate-password']) {
    await invoke(name);
    seen.push((await admin.query(LOGIN, ['runtime'])).rows[0].iam);
  }

  expect(seen).toEqual([false, true, false]);
  const address = new URL(server.url);
  address.username = 'runtime';
  address.password = 'of-runtime';
  const client = new pg.Client(address.href);
  await client.connect();
  await client.end();
});

it('a deployment never makes RDS refuse the password of the owner', async () => {
  await admin.query(`alter role admin set createrole_self_grant = 'inherit'`);
  await add('migrate', 'owner', { ...MIGRATIONS, MILLRACE_RUNTIME_USER: 'inherited' }, 'migrate-inherited');

  const refused = await answerOf('migrate-inherited');
  await admin.query('revoke inherited from admin granted by admin; alter role admin reset createrole_self_grant');
  const done = await invoke('migrate-inherited');

  expect(refused).toContain('run \\"revoke inherited from current_user\\" as the owner');
  expect(done).toEqual({});
  const { rows } = await admin.query(`select pg_has_role('admin', 'rds_iam', 'usage') as refused`);
  expect(rows).toEqual([{ refused: false }]);
});

it('a deployment that may not change how RDS authenticates the login states what to run', async () => {
  await add('migrate', 'owner', { ...MIGRATIONS, MILLRACE_RUNTIME_USER: 'other_functions' }, 'migrate-granting');
  await admin.query('revoke rds_iam from admin cascade; grant rds_iam to runtime');

  const granting = await answerOf('migrate-granting');
  const revoking = await answerOf('migrate-password');
  await admin.query('grant rds_iam to other_functions; revoke rds_iam from runtime');
  const done = [await invoke('migrate-granting'), await invoke('migrate-password')];

  expect(granting).toContain('run \\"grant rds_iam to other_functions\\" as one who may');
  expect(revoking).toContain('run \\"revoke rds_iam from runtime\\" as one who may');
  expect(done).toEqual([{}, {}]);
});

import { InvokeCommand } from '@aws-sdk/client-lambda';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { ownMigrations } from '../../core/postgres/migration-files.ts';
import { openDeployed } from './deployed-functions.ts';

const world = await openDeployed();
const { add, admin, invoke, lambda, secrets, server } = world;
afterAll(() => world.close());

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

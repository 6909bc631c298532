import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { checkApart } from '../../../cli/doctor/examine-database.ts';
import type { DatabaseAddress } from '../../../cli/target/database-address.ts';
import { databaseFailure } from '../../../cli/target/database-failure.ts';
import { type Database, openDatabase } from '../../../core/postgres/database.ts';
import { findOtherStages } from '../../../core/registry/other-stages.ts';
import { prepareDatabase, writeRegistry } from '../../../core/registry/prepare.ts';
import { openOwnServers } from '../../support/own-servers.ts';
import { recordLog, registrationsOf } from '../../support/runtime-engine.ts';

const servers = openOwnServers();
const catalog = registrationsOf([{ jobType: 'mail' }]).map(({ definition }) => definition);
const DENIED = /permission denied for schema millrace/;

interface Server {
  /** Runs statements as the superuser of the server, in this database. */
  ask(database: string, text: string): Promise<pg.QueryResult>;
  /** Runs statements as a login, whose password is `p`. */
  as(login: string, database: string, text: string): Promise<pg.QueryResult>;
  open(login: string, database: string): Database;
  /** Deploys a stage to the database of its name, with the logins `<stage>_runtime` and `<stage>_app`. */
  deploy(stage: string, owner?: string): Promise<ReturnType<typeof recordLog>>;
}

/** Starts a server with the databases dev and prod, and an owner of both schemas who owns neither database. */
async function startShared(): Promise<Server> {
  const { url } = await servers.start(await servers.newFolder());
  const address = (login: string | undefined, database: string) => {
    const found = new URL(url);
    found.pathname = `/${database}`;
    if (login !== undefined) [found.username, found.password] = [login, 'p'];
    return found.href;
  };
  const run = async (connectionString: string, text: string) => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    return client.query(text).finally(() => client.end());
  };
  const open = (login: string, database: string) => {
    const db = openDatabase({ connectionString: address(login, database), max: 1, name: 'test', log: recordLog() });
    onTestFinished(() => db.close());
    return db;
  };
  const ask = (database: string, text: string) => run(address(undefined, database), text);
  await ask('postgres', `create role deployer login createrole password 'p'`);
  for (const database of ['dev', 'prod']) {
    await ask('postgres', `create database ${database}`);
    await ask('postgres', `grant create on database ${database} to deployer`);
  }
  return {
    ...{ ask, open },
    as: (login, database, text) => run(address(login, database), text),
    deploy: async (stage, owner = 'deployer') => {
      const log = recordLog();
      const login = (role: 'runtime' | 'app') =>
        ({ name: `${stage}_${role}`, password: 'p', role: `millrace_${role}` }) as const;
      await prepareDatabase({
        ...{ db: open(owner, stage), home: { stage }, migration: { connectionString: address(owner, stage) } },
        ...{ logins: [login('runtime'), login('app')], catalog, drain: [], log },
      });
      const target = { home: { stage }, queueUrlPrefix: 'https://sqs.eu-west-1.amazonaws.com/1/', log };
      await writeRegistry(open(`${stage}_runtime`, stage), catalog, target);
      return log;
    },
  };
}

const ENQUEUE = `select from millrace.enqueue('mail', '{"card": "4111"}')`;
const READ = 'select payload from millrace.jobs';

it('stages on one server: a login of one cannot use the database of the other', async () => {
  const server = await startShared();
  await server.deploy('dev');
  await server.deploy('prod');
  await server.as('prod_app', 'prod', ENQUEUE);

  await expect(server.as('dev_runtime', 'prod', READ)).rejects.toThrow(DENIED);
  await expect(server.as('dev_app', 'prod', ENQUEUE)).rejects.toThrow(DENIED);
  await expect(server.as('dev_app', 'prod', 'select millrace.cancel(1)')).rejects.toThrow(DENIED);
  expect((await server.as('prod_runtime', 'prod', READ)).rows).toEqual([{ payload: { card: '4111' } }]);
});

it('the earlier stage is closed by its next deployment, which keeps the logins that people have made', async () => {
  const server = await startShared();
  await server.deploy('dev');
  await server.ask('dev', `create role shop login password 'p'; grant millrace_app to shop`);
  await server.deploy('prod');
  const expected = { stage: 'dev', address: undefined, catalog: { handlers: [], failures: [] }, deploy: '' };
  const open = await checkApart(server.open('deployer', 'dev'), expected);

  await server.deploy('dev');

  const closed = await checkApart(server.open('deployer', 'dev'), expected);
  expect(open).toMatchObject({
    ok: false,
    detail: 'prod_app can use this database, prod_runtime can use this database',
    next: 'deploy dev again',
  });
  expect(closed).toMatchObject({ ok: true });
  await expect(server.as('prod_runtime', 'dev', READ)).rejects.toThrow(DENIED);
  await expect(server.as('shop', 'prod', ENQUEUE)).rejects.toThrow(DENIED);
  await server.as('shop', 'dev', ENQUEUE);
  await server.as('dev_app', 'dev', ENQUEUE);
});

it('a login that is made later needs USAGE, too', async () => {
  const server = await startShared();
  await server.deploy('dev');
  await server.deploy('prod');
  await server.ask('prod', `create role shop login password 'p'; grant millrace_app to shop`);
  const refused = await server.as('shop', 'prod', ENQUEUE).catch((error: unknown) => error);
  expect(databaseFailure(refused, { label: 'prod' } as DatabaseAddress)).toMatchObject({
    message: expect.stringMatching(/for schema millrace; .*also requires grant usage on schema millrace to <login>$/),
  });

  await server.as('deployer', 'prod', 'grant usage on schema millrace to shop');

  await server.as('shop', 'prod', ENQUEUE);
});

it('without another stage on the server, every member of a role can use the database', async () => {
  const server = await startShared();
  await server.deploy('dev');

  await server.ask('dev', `create role shop login password 'p'; grant millrace_app to shop`);

  await server.as('shop', 'dev', ENQUEUE);
});

it('a deployment states what keeps the owner of another stage out, and the statement does', async () => {
  const server = await startShared();
  await server.deploy('dev');
  await server.ask('prod', `create role second login createrole password 'p'; grant create on database prod to second`);
  const roles = 'millrace_owner, millrace_runtime, millrace_app, millrace_operator';
  await server.ask('prod', `grant ${roles} to second with admin option`);
  await server.deploy('prod', 'second');
  const log = await server.deploy('dev');
  const reads = `set role millrace_owner; ${READ}`;
  await server.as('second', 'dev', reads);

  const [warning] = log.events('database_shared');
  expect(warning).toMatchObject({
    logins: 'second',
    reason:
      'revoke connect on database dev from public; grant connect on database dev to deployer, dev_app, dev_runtime',
  });
  await server.ask('dev', String(warning?.reason));

  await expect(server.as('second', 'dev', reads)).rejects.toThrow('permission denied for database "dev"');
  expect(await findOtherStages(server.open('deployer', 'dev'))).toMatchObject({ users: [], owners: [] });
  expect((await server.deploy('dev')).events('database_shared')).toEqual([]);
});

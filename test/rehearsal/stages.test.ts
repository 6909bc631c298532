import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listLeftovers, readPermissions } from './account.ts';
import { ROLLED_BACK } from './commands.ts';
import { type Deployment, prepareStages } from './deployment.ts';
import { EXTEND_WITH_BUCKET, exporting, naming } from './handlers.ts';
import { type Issuer, openIssuer } from './issuer.ts';
import { apiAddress, insertJob, insertJobs, post, postJob, untilJob, untilRow } from './jobs.ts';
import { createSecret, openSharedAccount, type SharedAccount, storeSecret } from './shared-account.ts';

const AUDIENCE = 'jobs';
/** Beside `tell_function`, which both stages have. */
const TALLIES = Array.from({ length: 99 }, (_, number) => `tally_${number}`);
/** Ten at a time: the processes of all would occupy 7 GB. */
const TURNS = Array.from({ length: 10 }, (_, turn) => TALLIES.slice(10 * turn, 10 * turn + 10));
const TOKEN = `token-${randomUUID()}`;

let account: SharedAccount;
let issuer: Issuer;
/** A stage with a handler that has a bucket and a secret. */
let shop: Deployment;
/** A stage with 100 handlers in nested stacks, and tokens of an issuer. */
let mill: Deployment;

beforeAll(async () => {
  account = await openSharedAccount();
  issuer = await openIssuer(account.server);
  const secrets = JSON.stringify({ RATES_TOKEN: await createSecret(account.cloud, 'rates-token', TOKEN) });
  const tokens = { api: 'jwt', jwtIssuer: issuer.url, jwtAudience: AUDIENCE };
  [shop, mill] = (await prepareStages(account, [
    { stage: 'shop', handlers: 'shop/jobs', databaseName: 'shop', settings: { secrets } },
    { stage: 'mill', handlers: 'mill/work', databaseName: 'mill', settings: { handlerStacks: '4', ...tokens } },
  ])) as [Deployment, Deployment];
  await asOwner(account.server.url, 'create database shop');
  await asOwner(account.server.url, 'create database mill');
  for (const stage of [shop, mill]) await stage.writeHandler('tell-function.ts', naming('tell_function'));
  await shop.writeHandler('export-report.ts', exporting());
  await shop.writeExtension(EXTEND_WITH_BUCKET);
  for (const name of TALLIES) await mill.writeHandler(`${name.replace('_', '-')}.ts`, naming(name));
});

afterAll(async () => {
  issuer?.close();
  for (const stage of [shop, mill]) await stage?.remove();
  await account?.remove();
});

async function asOwner(connectionString: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(text).finally(() => client.end());
}

it('deploys two stages, with a folder of handlers and a database each, into one account', async () => {
  const bootstrapped = await shop.bootstrap();
  expect(bootstrapped.code, bootstrapped.output).toBe(0);

  const first = await shop.deploy();
  const second = await mill.deploy();

  expect(first.code, first.output).toBe(0);
  expect(second.code, second.output).toBe(0);
});

it('runs the jobs of a stage only with the functions of this stage', async () => {
  const [inShop, inMill] = [
    await insertJobs(shop, 'tell_function', {}, 20),
    await insertJobs(mill, 'tell_function', {}, 20),
  ];

  const ran = (stage: Deployment, first: string) =>
    untilRow(
      stage,
      `select array_agg(distinct result ->> 'function') as by, array_agg(distinct attempts) as attempts
         from millrace.jobs where id >= $1 and status = 'succeeded' having count(*) = 20`,
      [first],
    );
  expect(await ran(shop, inShop)).toEqual({ by: ['millrace-shop-tell_function'], attempts: [1] });
  expect(await ran(mill, inMill)).toEqual({ by: ['millrace-mill-tell_function'], attempts: [1] });
});

it('runs a job with each of 100 handlers in nested stacks', async () => {
  const ran: unknown[] = [];

  for (const some of TURNS) {
    await mill.query(`select millrace.enqueue(job_type, '{}') from unnest($1::text[]) as job_type`, [some]);
    const row = await untilRow(
      mill,
      `select array_agg(result ->> 'function') as by from millrace.jobs
         where job_type = any ($1) and status = 'succeeded' having count(*) = $2`,
      [some, some.length],
    );
    ran.push(...(row as { by: string[] }).by);
    for (const name of some) await account.cloud.endProcesses(`millrace-mill-${name}`);
  }

  expect(ran.sort()).toEqual(TALLIES.map((name) => `millrace-mill-${name}`).sort());
});

it('doctor finds no difference in a stage with 100 handlers', async () => {
  const { code, output } = await mill.doctor();

  expect(code, output).toBe(0);
});

it('accepts only tokens of the issuer, whose keys its discovery document names', async () => {
  const claims = { sub: 'ada', aud: AUDIENCE, scope: 'jobs:enqueue' };
  const job = { job_type: 'tell_function', payload: {} };
  const enqueue = async (token?: string) => (await post(mill, '/jobs', job, token)).status;

  const accepted = await post(mill, '/jobs', job, await issuer.sign(claims));
  const { id } = (await accepted.json()) as { id: string };

  expect(await untilJob(mill, String(id), { status: 'succeeded' })).toMatchObject({ attempts: 1 });
  expect(await enqueue()).toBe(401);
  expect(await enqueue(await issuer.forge(claims))).toBe(401);
  expect(await enqueue(await issuer.sign({ ...claims, aud: 'others' }))).toBe(401);
  expect(await enqueue(await issuer.sign({ ...claims, scope: 'jobs:read' }))).toBe(403);
  expect((await fetch(`${await apiAddress(mill)}/healthz`)).status).toBe(200);
});

it('gives the bucket and the secret to one handler, which uses both', async () => {
  const id = await postJob(shop, 'export_report', {});
  const [exports, others] = [
    await readPermissions(account.cloud, 'millrace-shop-export_report'),
    await readPermissions(account.cloud, 'millrace-shop-tell_function'),
  ];

  expect(await untilJob(shop, id, { status: 'succeeded' })).toMatchObject({ result: { ok: true, token: TOKEN } });
  expect(await (await fetch(`${account.cloud.endpoint}/exports-of-shop/${id}`)).text()).toBe(id);
  expect(exports).toMatch(/"s3:PutObject".*exports-of-shop/);
  expect(exports).toContain(':secret:rates-token');
  expect(others).toContain('sqs:ReceiveMessage');
  expect(others).not.toMatch(/s3:|rates-token/);
});

it('keeps the login of a stage out of the database of the other', async () => {
  const login = Object.assign(new URL(mill.databaseUrl), { username: 'shop_functions', password: 'password-of-shop' });

  await expect(asOwner(login.href, 'select from millrace.jobs')).rejects.toThrow('permission denied for schema');
});

it('refuses the database of another stage, and both stages continue', async () => {
  const moved = ['--context', 'databaseName=mill', '--context', `moveDatabase=${shop.address}`];

  const { code, output } = await shop.deploy(...moved);

  expect(code).toBe(1);
  expect(output).toMatch(/this database belongs to the stage mill in the account \d+ and region us-east-1, and a depl/);
  expect(output).toMatch(ROLLED_BACK);
  for (const stage of [shop, mill]) {
    const id = await insertJob(stage, 'tell_function', {});
    expect(await untilJob(stage, id, { status: 'succeeded' })).toMatchObject({ attempts: 1 });
  }
});

it('continues without a deployment after the password of its login is rotated', async () => {
  const rotated = { username: 'shop_functions', password: `password-${randomUUID()}` };
  await shop.query(`alter role shop_functions password '${rotated.password}'`);
  await storeSecret(account.cloud, 'shop/runtime', JSON.stringify(rotated));
  const ended = await shop.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and usename = 'shop_functions'`,
  );

  const id = await postJob(shop, 'export_report', {});

  expect(ended.length).toBeGreaterThan(0);
  expect(await untilJob(shop, id, { status: 'succeeded' })).toMatchObject({ result: { ok: true } });
});

it('removes a stage, and the other continues', async () => {
  const { code, output } = await shop.destroy();
  const left = await listLeftovers(account.cloud);

  expect(code, output).toBe(0);
  expect(left.filter((name) => name.includes('shop'))).toEqual([]);
  expect(left).toContain('mapping of millrace-mill-tell_function');
  const id = await insertJob(mill, 'tell_function', {});
  expect(await untilJob(mill, id, { status: 'succeeded' })).toMatchObject({ attempts: 1 });
});

import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import pg from 'pg';
import { openChildren } from '../../local/processes/children.ts';
import { cdk, millrace, type Result } from './commands.ts';
import { type Cloud, startMiniStack } from './ministack.ts';
import { type SecureDatabase, startSecureDatabase } from './postgres.ts';

const STAGE = 'rehearsal';
const STACK = `millrace-${STAGE}`;
const ROOT = resolve(import.meta.dirname, '../..');

/** A cloud, a database, and a folder of handlers that is deployed to the cloud and uses the database. */
export interface Deployment {
  readonly cloud: Cloud;
  readonly folder: string;
  /** ARN of a secret of the owner with a wrong password. */
  readonly wrongSecret: string;
  /** The database of the stage, as a refused move names it: `127.0.0.1:5432/millrace`. */
  readonly address: string;
  /** Writes a new handler file or replaces one. */
  writeHandler(file: string, source: string): Promise<void>;
  removeHandler(file: string): Promise<void>;
  bootstrap(): Promise<Result>;
  deploy(...options: readonly string[]): Promise<Result>;
  synthesise(): Promise<Result>;
  /** Deploys the result of the last `synthesise`, so that the deployment starts at once. */
  deploySynthesised(): Promise<Result>;
  diff(): Promise<Result>;
  destroy(): Promise<Result>;
  /** Runs `millrace doctor` with the current folder of handlers and the database. */
  doctor(): Promise<Result>;
  /** Returns the outputs of the last deployment by name. */
  outputs(): Promise<Readonly<Record<string, string>>>;
  /** Creates another database on the server. */
  createDatabase(name: string): Promise<OtherDatabase>;
  /** Runs a query as the owner of the database. */
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  readonly pool: pg.Pool;
  remove(): Promise<void>;
}

export interface OtherDatabase {
  readonly address: string;
  /** Returns the names of the handlers in its registry; undefined without a schema. */
  handlers(): Promise<string[] | undefined>;
}

export async function prepareDeployment(): Promise<Deployment> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-rehearsal-'));
  await chmod(folder, 0o755);
  const children = openChildren();
  const handlers = await makeHandlersFolder(folder);
  const [database, cloud] = await Promise.all([
    startSecureDatabase(children, folder),
    startMiniStack(children, folder),
  ]);
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  pool.on('error', () => undefined);
  const secrets = await createSecrets(cloud, database);
  const outputs = join(folder, 'outputs.json');
  const deploy = ['deploy', STACK, '--require-approval=never', '--outputs-file', outputs];
  const assembly = join(folder, 'cdk.out');
  const app = ['--app', `${process.execPath} test/rehearsal/app.ts`, '--output', assembly];
  const chosen = [...app, ...context({ ...secrets.context, handlers })];
  return {
    cloud,
    folder,
    wrongSecret: secrets.wrong,
    address: addressOf(database, 'millrace'),
    createDatabase: async (name) => {
      await pool.query(`create database ${name}`);
      return { address: addressOf(database, name), handlers: () => handlersIn(new URL(`/${name}`, database.url)) };
    },
    writeHandler: (file, source) => writeFile(join(handlers, file), source),
    removeHandler: (file) => rm(join(handlers, file)),
    bootstrap: () => cdk(cloud, 'bootstrap', cloud.account),
    deploy: (...options) => cdk(cloud, ...deploy, ...chosen, ...options),
    synthesise: () => cdk(cloud, 'synth', STACK, '--quiet', ...chosen),
    deploySynthesised: () => cdk(cloud, ...deploy, '--app', assembly),
    diff: () => cdk(cloud, 'diff', STACK, '--fail', ...chosen),
    destroy: () => cdk(cloud, 'destroy', STACK, '--force', ...chosen),
    doctor: () => millrace(cloud, join(folder, 'clone'), database.url, 'doctor', '--stage', STAGE),
    outputs: async () => JSON.parse(await readFile(outputs, 'utf8'))[STACK],
    query: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) => {
      return (await pool.query<Row>(text, [...values])).rows;
    },
    pool,
    remove: async () => {
      await pool.end();
      await children.close();
      cloud.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function addressOf({ port }: SecureDatabase, name: string): string {
  return `127.0.0.1:${port}/${name}`;
}

async function handlersIn({ href }: URL): Promise<string[] | undefined> {
  const client = new pg.Client(href);
  await client.connect();
  try {
    const { rows } = await client.query(`select to_regclass('millrace.handlers') as handlers`);
    if (rows[0].handlers === null) return undefined;
    const found = await client.query('select job_type from millrace.handlers order by 1');
    return found.rows.map((row) => row.job_type);
  } finally {
    await client.end();
  }
}

/** Makes a folder like that of a clone, so that handler files have the same imports as those of the product. */
async function makeHandlersFolder(folder: string): Promise<string> {
  const handlers = join(folder, 'clone', 'functions', 'handlers');
  await mkdir(handlers, { recursive: true });
  for (const name of ['core', 'node_modules', 'package.json']) {
    await symlink(join(ROOT, name), join(folder, 'clone', name));
  }
  return handlers;
}

/** Creates the two secrets of an existing database, and a secret with a wrong password. */
export async function createSecrets(cloud: Cloud, { url, port, ca }: SecureDatabase) {
  const client = new SecretsManagerClient(cloud.client);
  const create = async (Name: string, username: string, password: string): Promise<string> => {
    const SecretString = JSON.stringify({ username, password });
    return (await client.send(new CreateSecretCommand({ Name, SecretString }))).ARN ?? '';
  };
  const { username, password } = new URL(url);
  const databaseOwnerSecret = await create('owner', username, password);
  const databaseRuntimeSecret = await create('runtime', 'rehearsal_functions', 'password-of-functions');
  const wrong = await create('wrong', username, `not ${password}`);
  client.destroy();
  const context = {
    ...{ database: 'existing', databaseOwnerSecret, databaseRuntimeSecret },
    ...{ databaseHost: '127.0.0.1', databasePort: String(port), databaseName: 'millrace', databaseCa: ca },
  };
  return { context, wrong };
}

/** Lists the stage with its settings, as `cdk.json` would: options of a later command override them. */
function context(chosen: Readonly<Record<string, string>>): string[] {
  // MiniStack runs functions on this machine's processor.
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x86_64';
  // The rehearsal destroys the stack, and expects that nothing stays.
  const monitored = { protect: 'off', alarms: 'on', dashboard: 'on', metricsByJobType: 'on' };
  const settings = { architecture, ...monitored, ...chosen };
  return Object.entries({ stage: STAGE, stages: JSON.stringify({ [STAGE]: settings }) }).flatMap(([name, value]) => [
    '--context',
    `${name}=${value}`,
  ]);
}

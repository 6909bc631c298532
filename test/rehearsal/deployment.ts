import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { cdk, millrace, type Result } from './commands.ts';
import type { Cloud } from './ministack.ts';
import type { SecureDatabase } from './postgres.ts';
import { createSecrets, openSharedAccount, type SharedAccount } from './shared-account.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** A cloud, a database, and a folder of handlers that is deployed to the cloud and uses the database. */
export interface Deployment {
  readonly cloud: Cloud;
  readonly folder: string;
  /** URL of the database with its owner. */
  readonly databaseUrl: string;
  /** ARN of a secret of the owner with a wrong password. */
  readonly wrongSecret: string;
  /** The database of the stage, as a refused move names it: `127.0.0.1:5432/millrace`. */
  readonly address: string;
  /** Writes a new handler file or replaces one. */
  writeHandler(file: string, source: string): Promise<void>;
  removeHandler(file: string): Promise<void>;
  /** Writes `infra/extend.ts`. */
  writeExtension(source: string): Promise<void>;
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

export interface StageChoice {
  readonly stage: string;
  /** Folder of the handler files in the clone, two levels deep, so that they have the imports of the product's. */
  readonly handlers: string;
  readonly databaseName: string;
  /** Settings of the stage in `cdk.json`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Prepares one stage with an account of its own. */
export async function prepareDeployment(): Promise<Deployment> {
  const account = await openSharedAccount();
  const choice = { stage: 'rehearsal', handlers: 'functions/handlers', databaseName: 'millrace' };
  const deployment = (await prepareStages(account, [choice]))[0]!;
  const remove = () => deployment.remove().finally(() => account.remove());
  return { ...deployment, remove };
}

/** Prepares stages in one account, listed together as in `cdk.json`. Each has a clone and secrets of its own. */
export async function prepareStages(account: SharedAccount, choices: readonly StageChoice[]): Promise<Deployment[]> {
  const clones = await Promise.all(choices.map((choice) => prepareClone(account, choice)));
  const stages = Object.fromEntries(clones.map(({ choice, settings }) => [choice.stage, settings]));
  return clones.map((clone) => openDeployment(account, clone, stages));
}

type Clone = Awaited<ReturnType<typeof prepareClone>>;

async function prepareClone({ cloud, server, folder }: SharedAccount, choice: StageChoice) {
  const clone = join(folder, `clone-of-${choice.stage}`);
  const handlers = join(clone, choice.handlers);
  for (const made of [handlers, join(clone, 'infra')]) await mkdir(made, { recursive: true });
  for (const name of ['core', 'node_modules', 'package.json']) await symlink(join(ROOT, name), join(clone, name));
  const secrets = await createSecrets(cloud, server, choice);
  // MiniStack runs functions on this machine's processor.
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x86_64';
  // The rehearsal destroys the stack, and expects that nothing stays.
  const monitored = { protect: 'off', alarms: 'on', dashboard: 'on', metricsByJobType: 'on' };
  const settings = { architecture, ...monitored, ...secrets.context, handlers, ...choice.settings };
  return { choice, clone, handlers, settings, wrongSecret: secrets.wrong };
}

function openDeployment({ cloud, server, folder }: SharedAccount, prepared: Clone, stages: object): Deployment {
  const { clone, choice, handlers, wrongSecret } = prepared;
  const { stage, databaseName } = choice;
  const databaseUrl = Object.assign(new URL(server.url), { pathname: `/${databaseName}` }).href;
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  pool.on('error', () => undefined);
  const stack = `millrace-${stage}`;
  const outputs = join(clone, 'outputs.json');
  const deploy = ['deploy', stack, '--require-approval=never', '--outputs-file', outputs];
  const assembly = join(clone, 'cdk.out');
  // Options of a later command override the list, which `cdk.json` would contain.
  const context = ['--context', `stage=${stage}`, '--context', `stages=${JSON.stringify(stages)}`];
  const app = `${process.execPath} test/rehearsal/app.ts ${join(clone, 'infra')}`;
  const chosen = ['--app', app, '--output', assembly, ...context];
  return {
    ...{ cloud, folder, databaseUrl, wrongSecret, pool, address: addressOf(server, databaseName) },
    createDatabase: async (name) => {
      await pool.query(`create database ${name}`);
      return { address: addressOf(server, name), handlers: () => handlersIn(new URL(`/${name}`, server.url)) };
    },
    writeHandler: (file, source) => writeFile(join(handlers, file), source),
    removeHandler: (file) => rm(join(handlers, file)),
    writeExtension: (source) => writeFile(join(clone, 'infra/extend.ts'), source),
    bootstrap: () => cdk(cloud, 'bootstrap', cloud.account),
    deploy: (...options) => cdk(cloud, ...deploy, ...chosen, ...options),
    synthesise: () => cdk(cloud, 'synth', stack, '--quiet', ...chosen),
    deploySynthesised: () => cdk(cloud, ...deploy, '--app', assembly),
    diff: () => cdk(cloud, 'diff', stack, '--fail', ...chosen),
    destroy: () => cdk(cloud, 'destroy', stack, '--force', ...chosen),
    doctor: () => millrace(cloud, clone, databaseUrl, 'doctor', '--stage', stage, '--handlers', handlers),
    outputs: async () => JSON.parse(await readFile(outputs, 'utf8'))[stack],
    query: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) => {
      return (await pool.query<Row>(text, [...values])).rows;
    },
    remove: () => pool.end(),
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

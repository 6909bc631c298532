import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { buildSync } from 'esbuild';
import pg from 'pg';
import { expect } from 'vitest';
import { bundleOptions, catalogSource, definitionsSource, handlerFiles } from '../../infra/bundle/options.ts';
import { startSqs } from '../../local/sqs/server.ts';
import { openRunner } from '../local/lambda/runner-fixture.ts';
import { startSecretsManager } from '../support/fake-secrets.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { certify, startOwnPostgres, useTls } from '../support/tls-postgres.ts';
import echo from './deployed-handler.ts';

const root = new URL('../../', import.meta.url).pathname;
export const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

/** Opens the services of AWS that deployed functions use, and a Postgres with TLS. */
export async function openDeployed() {
  const secrets = new Map<string, string>();
  const manager = await startSecretsManager(secrets);
  const sqs = await startSqs();
  const runner = await openRunner(sqs.endpoint);
  const lambda = new LambdaClient({ endpoint: runner.runner.endpoint, region: 'us-east-1', credentials });
  const server = await startOwnPostgres();
  const ca = await certifyServer(server);
  const admin = await prepareOwner(server);
  const place = { host: 'localhost', port: server.port, dbname: 'millrace' };
  secrets.set('owner', JSON.stringify({ username: 'admin', password: 'of-owner', ...place }));
  secrets.set('token', 'hunter2-token');
  secrets.set('runtime', JSON.stringify({ username: 'runtime', password: 'of-runtime', ...place }));
  const addresses = { AWS_ENDPOINT_URL_SECRETS_MANAGER: manager.endpoint, AWS_ENDPOINT_URL_SQS: sqs.endpoint };
  const settings = { MILLRACE_STAGE: 'test', MILLRACE_DATABASE_CA: ca, ...addresses };

  /** Adds the deployed bundle as a function whose environment contains no password. */
  async function add(entry: string, secret: string, environment: Record<string, string> = {}, name = entry) {
    runner.runner.addFunction({
      ...{ name, bundle: await bundle(entry), timeoutSeconds: 60, memoryMb: 512 },
      environment: { ...settings, MILLRACE_DATABASE_SECRET: secret, ...environment },
    });
  }

  async function invoke(name: string, payload: object = {}): Promise<unknown> {
    const answer = await lambda.send(new InvokeCommand({ FunctionName: name, Payload: JSON.stringify(payload) }));
    const text = answer.Payload?.transformToString() ?? '';
    expect(answer.FunctionError, `${text}\n${runner.lines().join('\n')}`).toBeUndefined();
    return JSON.parse(text === '' ? 'null' : text);
  }

  async function close(): Promise<void> {
    await runner.close();
    await admin.end();
    await server.stop();
    await sqs.close();
    manager.close();
  }

  return { secrets, sqs, runner, lambda, server, admin, add, invoke, close };
}

type Server = Awaited<ReturnType<typeof startOwnPostgres>>;

/** Returns the path of the certificate. */
async function certifyServer(server: Server): Promise<string> {
  const tls = await certify();
  await useTls(server, tls);
  const ca = join(server.folder, '..', 'ca.pem');
  await writeFile(ca, tls.certificate);
  return ca;
}

/** As on RDS: the owner is not a superuser, and the database is empty. */
async function prepareOwner({ url }: Server): Promise<pg.Client> {
  const admin = new pg.Client(url);
  await admin.connect();
  await admin.query(`create role admin login createrole password 'of-owner'`);
  await admin.query('grant create on database millrace to admin');
  return admin;
}

async function bundle(entry: string): Promise<string> {
  const handler = join(root, 'test/functions/deployed-handler.ts');
  const folder = await temporaryFolder();
  const catalog = join(folder, 'catalog.ts');
  const files = [{ name: echo.jobType, file: handler }];
  await writeFile(catalog, catalogSource(files));
  const definitions = join(folder, 'definitions.ts');
  await writeFile(definitions, definitionsSource([JSON.parse(JSON.stringify(echo))]));
  const outfile = join(folder, 'index.mjs');
  const alias = { '#handler': handler, '#catalog': catalog, '#definitions': definitions, ...handlerFiles(files) };
  buildSync({ ...bundleOptions([], handler), entryPoints: [join(root, 'functions', `${entry}.ts`)], alias, outfile });
  return outfile;
}

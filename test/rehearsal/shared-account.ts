import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateSecretCommand, PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { openChildren } from '../../local/processes/children.ts';
import { type Cloud, startMiniStack } from './ministack.ts';
import { type SecureDatabase, startSecureDatabase } from './postgres.ts';

/** An account and a server of databases, for one stage or more. */
export interface SharedAccount {
  readonly cloud: Cloud;
  readonly server: SecureDatabase;
  readonly folder: string;
  remove(): Promise<void>;
}

export async function openSharedAccount(): Promise<SharedAccount> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-rehearsal-'));
  await chmod(folder, 0o755);
  const children = openChildren();
  const server = await startSecureDatabase(children, folder);
  const cloud = await startMiniStack(children, folder, server.ca);
  return {
    ...{ cloud, server, folder },
    remove: async () => {
      await children.close();
      cloud.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Creates a secret and returns its ARN. */
export async function createSecret(cloud: Cloud, name: string, value: string): Promise<string> {
  const client = new SecretsManagerClient(cloud.client);
  const { ARN = '' } = await client.send(new CreateSecretCommand({ Name: name, SecretString: value }));
  client.destroy();
  return ARN;
}

export async function storeSecret(cloud: Cloud, name: string, value: string): Promise<void> {
  const client = new SecretsManagerClient(cloud.client);
  await client.send(new PutSecretValueCommand({ SecretId: name, SecretString: value }));
  client.destroy();
}

interface Place {
  readonly stage: string;
  readonly databaseName: string;
}

/** Creates the two secrets of a database of a stage, and a secret with a wrong password. */
export async function createSecrets(
  cloud: Cloud,
  { url, port, ca }: SecureDatabase,
  { stage, databaseName }: Place = { stage: 'rehearsal', databaseName: 'millrace' },
) {
  const create = (name: string, username: string, password: string): Promise<string> =>
    createSecret(cloud, `${stage}/${name}`, JSON.stringify({ username, password }));
  const { username, password } = new URL(url);
  const databaseOwnerSecret = await create('owner', username, password);
  const databaseRuntimeSecret = await create('runtime', `${stage}_functions`, `password-of-${stage}`);
  const wrong = await create('wrong', username, `not ${password}`);
  const context = {
    ...{ database: 'existing', databaseOwnerSecret, databaseRuntimeSecret },
    ...{ databaseHost: '127.0.0.1', databasePort: String(port), databaseName, databaseCa: ca },
  };
  return { context, wrong };
}

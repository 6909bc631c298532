import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { checkHandlerSecrets } from '../settings/setting-values.ts';
import { allowKey } from './stage-key.ts';

/** A secret of the app. All of `ISecret` would require an app without exactOptionalPropertyTypes. */
export type ReadableSecret = Pick<ISecret, 'grantRead' | 'secretArn'>;

/** Secrets of handlers by name: a secret of the app, or the full ARN of one that exists. */
export type GivenSecrets = Readonly<Record<string, ReadableSecret | string>>;

/** The secrets that handlers name, each once. */
export class HandlerSecrets extends Construct {
  readonly byName: ReadonlyMap<string, ReadableSecret>;

  constructor(scope: Construct, id: string, given: GivenSecrets) {
    super(scope, id);
    const arns = Object.entries(given).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
    checkHandlerSecrets(Object.fromEntries(arns));
    this.byName = new Map(
      Object.entries(given).map(([name, secret]) => [
        name,
        typeof secret === 'string' ? Secret.fromSecretCompleteArn(this, name, secret) : secret,
      ]),
    );
  }
}

export interface Readable {
  readonly secrets: ReadonlyMap<string, ReadableSecret>;
  /** The key of the stage, which can encrypt them. */
  readonly key: IKey | undefined;
}

/** Allows a role to read the secrets with these names. */
export function grantSecrets(role: IRole, names: readonly string[], { secrets, key }: Readable): void {
  for (const name of names) secrets.get(name)?.grantRead(role);
  if (names.length > 0) allowKey(role, key, 'readSecrets');
}

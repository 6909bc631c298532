import { Stack, Token } from 'aws-cdk-lib';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { SettingError } from '../../core/errors.ts';
import type { DatabaseChoice } from '../settings/place-settings.ts';
import { check, FORMS } from '../settings/setting-values.ts';

export interface StageKeyProps {
  /** ARN of the key; undefined for the keys of AWS. */
  readonly kmsKey: string | undefined;
  readonly database: DatabaseChoice;
}

/**
 * Returns the key of the user that encrypts a stage.
 * @throws SettingError unless it is the ARN of a key, and for a key in another region, if the region is known
 */
export function stageKey(scope: Construct, { kmsKey, database }: StageKeyProps): IKey | undefined {
  if (kmsKey === undefined) return undefined;
  if (!Token.isUnresolved(kmsKey)) {
    check('kmsKey', kmsKey, FORMS.kmsKey);
    const region = regionOf(scope, database);
    if (region !== undefined && kmsKey.split(':')[3] !== region) {
      throw new SettingError('kmsKey', `a key in ${region}, the region of the stack`, kmsKey);
    }
  }
  return Key.fromKeyArn(scope, 'Key', kmsKey);
}

/** The region is known with `env`, or from a secret, which is in the region of the stack. */
function regionOf(scope: Construct, database: DatabaseChoice): string | undefined {
  const { region } = Stack.of(scope);
  if (!Token.isUnresolved(region)) return region;
  if (database.kind !== 'existing' || Token.isUnresolved(database.ownerSecret)) return undefined;
  return database.ownerSecret.split(':')[3];
}

/** What a service of AWS does with the key for the role that calls the service. */
const USES = {
  readSecrets: { service: 'secretsmanager', actions: ['kms:Decrypt'] },
  // SQS decrypts each new data key once, to verify it.
  send: { service: 'sqs', actions: ['kms:Decrypt', 'kms:GenerateDataKey'] },
} as const;

/**
 * Returns the statement that allows this use of the key; none without a key. CDK adds no such statement for a key that
 * it did not create, except to the role of a function that SQS invokes.
 */
export function keyStatements(scope: Construct, key: IKey | undefined, use: keyof typeof USES): PolicyStatement[] {
  if (key === undefined) return [];
  const { service, actions } = USES[use];
  const via = `${service}.${Stack.of(scope).region}.amazonaws.com`;
  const conditions = { StringEquals: { 'kms:ViaService': via } };
  return [new PolicyStatement({ actions: [...actions], resources: [key.keyArn], conditions })];
}

/** Allows a role this use of the key. */
export function allowKey(role: IRole, key: IKey | undefined, use: keyof typeof USES): void {
  for (const statement of keyStatements(role, key, use)) role.addToPrincipalPolicy(statement);
}

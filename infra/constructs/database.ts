import type { DatabaseCluster, DatabaseInstance, Endpoint } from 'aws-cdk-lib/aws-rds';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { ownFile } from '../../core/own-files.ts';
import type { ExistingDatabase } from '../settings/existing-database.ts';
import { type DatabaseLogin, iamLogin } from './database-login.ts';

/** What functions use to connect to the database: logins and address. */
export interface DatabaseAccess {
  readonly owner: ISecret;
  readonly runtime: DatabaseLogin;
  readonly app?: ISecret;
  readonly environment: Readonly<Record<string, string>>;
  /** Files to copy beside every bundle: path by name in the asset. */
  readonly beside: Readonly<Record<string, string>>;
  /** The address of a new database. */
  readonly endpoint?: Endpoint;
  /** The new cluster or instance. */
  readonly cluster?: DatabaseCluster;
  readonly instance?: DatabaseInstance;
}

export const CA_FILE = 'rds-ca.pem';
/** The certificate authorities of Amazon RDS in all regions. */
export const RDS_AUTHORITIES = ownFile('infra/rds-ca.pem');
/** Name of a new database. */
export const DATABASE = 'millrace';
export const CA_SETTING = { MILLRACE_DATABASE_CA: `/var/task/${CA_FILE}` };

export function existingDatabase(scope: Construct, props: ExistingDatabase): DatabaseAccess {
  const group = new Construct(scope, 'Database');
  const secret = (id: string, arn: string): ISecret => Secret.fromSecretCompleteArn(group, id, arn);
  const { host, port, name, ca = RDS_AUTHORITIES, appSecret } = props;
  return {
    owner: secret('Owner', props.ownerSecret),
    runtime:
      props.login === 'iam'
        ? iamLogin(group, props.user, props.resourceId)
        : { secret: secret('Runtime', props.runtimeSecret) },
    ...(appSecret !== undefined && { app: secret('App', appSecret) }),
    environment: {
      ...CA_SETTING,
      ...(host !== undefined && { MILLRACE_DATABASE_HOST: host }),
      ...(port !== undefined && { MILLRACE_DATABASE_PORT: port }),
      ...(name !== undefined && { MILLRACE_DATABASE_NAME: name }),
    },
    beside: { [CA_FILE]: ca },
  };
}

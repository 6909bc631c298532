import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import {
  AuroraPostgresEngineVersion,
  ClusterInstance,
  Credentials,
  DatabaseCluster,
  DatabaseClusterEngine,
} from 'aws-cdk-lib/aws-rds';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { ownFile } from '../../core/own-files.ts';
import type { ExistingDatabase } from '../settings/place-settings.ts';
import { acknowledge } from './acknowledge.ts';
import type { Place } from './network.ts';

/** What functions use to connect to the database: logins and address. */
export interface DatabaseAccess {
  readonly owner: ISecret;
  readonly runtime: ISecret;
  readonly app?: ISecret;
  readonly environment: Readonly<Record<string, string>>;
  /** Files to copy beside every bundle: path by name in the asset. */
  readonly beside: Readonly<Record<string, string>>;
  /** The new cluster. */
  readonly cluster?: DatabaseCluster;
}

const CA_FILE = 'rds-ca.pem';
/** The certificate authorities of Amazon RDS in all regions. */
const RDS_AUTHORITIES = ownFile('infra/rds-ca.pem');
/** Name of a new database. */
export const DATABASE = 'millrace';
const CA_SETTING = { MILLRACE_DATABASE_CA: `/var/task/${CA_FILE}` };

export function existingDatabase(scope: Construct, props: ExistingDatabase): DatabaseAccess {
  const group = new Construct(scope, 'Database');
  const secret = (id: string, arn: string): ISecret => Secret.fromSecretCompleteArn(group, id, arn);
  const { host, port, name, ca = RDS_AUTHORITIES, appSecret } = props;
  return {
    owner: secret('Owner', props.ownerSecret),
    runtime: secret('Runtime', props.runtimeSecret),
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

/** Makes a new cluster that only the functions can connect to. */
export function newDatabase(scope: Construct, place: Place): DatabaseAccess {
  const group = new Construct(scope, 'Database');
  const cluster = new DatabaseCluster(group, 'Cluster', {
    engine: DatabaseClusterEngine.auroraPostgres({ version: AuroraPostgresEngineVersion.VER_17_7 }),
    writer: ClusterInstance.serverlessV2('Writer'),
    // Not 0: the dispatcher runs every minute, so the cluster would never pause. 0.5 is the smallest other capacity.
    serverlessV2MinCapacity: 0.5,
    serverlessV2MaxCapacity: 8,
    vpc: place.vpc,
    vpcSubnets: { subnets: [...place.subnets] },
    credentials: Credentials.fromGeneratedSecret('millrace_admin'),
    defaultDatabaseName: DATABASE,
    storageEncrypted: true,
    backup: { retention: Duration.days(7) },
    removalPolicy: RemovalPolicy.SNAPSHOT,
  });
  acknowledgeAurora(group, cluster);
  for (const securityGroup of place.securityGroups) cluster.connections.allowDefaultPortFrom(securityGroup);
  const { hostname, port } = cluster.clusterEndpoint;
  return {
    owner: cluster.secret ?? fail(),
    runtime: newLogin(group, 'Runtime', 'millrace_functions'),
    app: newLogin(group, 'App', 'millrace_producer'),
    environment: {
      ...CA_SETTING,
      MILLRACE_DATABASE_HOST: hostname,
      MILLRACE_DATABASE_PORT: String(port),
      MILLRACE_DATABASE_NAME: DATABASE,
    },
    beside: { [CA_FILE]: RDS_AUTHORITIES },
    cluster,
  };
}

function newLogin(scope: Construct, id: string, username: string): ISecret {
  return new Secret(scope, id, {
    generateSecretString: {
      secretStringTemplate: JSON.stringify({ username }),
      generateStringKey: 'password',
      passwordLength: 40,
      excludePunctuation: true,
    },
    // The interfaces of CDK do not support exactOptionalPropertyTypes.
  }) as ISecret;
}

function fail(): never {
  throw new Error('the cluster created no secret for its owner');
}

function acknowledgeAurora(group: Construct, cluster: DatabaseCluster): void {
  acknowledge(cluster, 'RDS6', 'Functions log in with passwords of 40 characters, which work with any Postgres.');
  acknowledge(cluster, 'RDS10', 'Destroying the stack is intentional and leaves a snapshot of the cluster.');
  const rotation =
    'Rotation requires a separate application in the account; functions read a rotated password at once.';
  acknowledge(group, 'SMG4', rotation);
}

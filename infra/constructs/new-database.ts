import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { InstanceClass, InstanceSize, InstanceType } from 'aws-cdk-lib/aws-ec2';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  AuroraPostgresEngineVersion,
  ClusterInstance,
  Credentials,
  DatabaseCluster,
  DatabaseClusterEngine,
  DatabaseInstance,
  DatabaseInstanceEngine,
  PostgresEngineVersion,
  StorageType,
} from 'aws-cdk-lib/aws-rds';
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { LoginChoice } from '../settings/existing-database.ts';
import { acknowledge } from './acknowledge.ts';
import { CA_FILE, CA_SETTING, DATABASE, type DatabaseAccess, RDS_AUTHORITIES } from './database.ts';
import { type DatabaseLogin, iamLogin } from './database-login.ts';
import type { Place } from './network.ts';

export interface NewDatabase {
  /** Aurora Serverless v2, or an RDS instance. */
  readonly kind: 'create' | 'small';
  readonly login?: LoginChoice;
  readonly place: Place;
  /** Whether it refuses to be deleted. */
  readonly protect: boolean;
  /** Whether it has a second instance in another zone. */
  readonly standby: boolean;
  /** What encrypts the database and its secrets; undefined for the keys of AWS. A change replaces the database. */
  readonly key: IKey | undefined;
}

const ADMINISTRATOR = 'millrace_admin';
/** Two logins, so that functions can log in until the deployment that changes the choice has replaced them. */
const FUNCTIONS = { password: 'millrace_functions', iam: 'millrace_functions_iam' } as const;
/** The major version alone: AWS withdraws minor versions, and installs newer ones itself. */
const POSTGRES = '17';
const BACKUP_DAYS = { protected: 14, unprotected: 7 };
const GIGABYTES = { allocatedStorage: 20, maxAllocatedStorage: 100 };

/** Makes a new database that only the functions can connect to. */
export function newDatabase(scope: Construct, choice: NewDatabase): DatabaseAccess {
  const group = new Construct(scope, 'Database');
  const made = choice.kind === 'create' ? makeCluster(group, choice) : makeInstance(group, choice);
  const { database, endpoint } = made;
  acknowledgeRules(group, database, choice);
  for (const securityGroup of choice.place.securityGroups) database.connections.allowDefaultPortFrom(securityGroup);
  return {
    owner: database.secret ?? fail(),
    runtime: functionsLogin(group, database, choice),
    app: newLogin(group, 'App', { username: 'millrace_producer', database, key: choice.key }),
    environment: {
      ...CA_SETTING,
      MILLRACE_DATABASE_HOST: endpoint.hostname,
      MILLRACE_DATABASE_PORT: String(endpoint.port),
      MILLRACE_DATABASE_NAME: DATABASE,
    },
    beside: { [CA_FILE]: RDS_AUTHORITIES },
    endpoint,
    ...('clusterEndpoint' in database ? { cluster: database } : { instance: database }),
  };
}

function shared({ place, protect, login, key }: NewDatabase) {
  return {
    vpc: place.vpc,
    vpcSubnets: { subnets: [...place.subnets] },
    credentials: Credentials.fromGeneratedSecret(ADMINISTRATOR, key && { encryptionKey: key }),
    storageEncrypted: true,
    ...(key && { storageEncryptionKey: key }),
    deletionProtection: protect,
    ...(login === 'iam' && { iamAuthentication: true }),
    removalPolicy: RemovalPolicy.SNAPSHOT,
  };
}

function backupOf({ protect }: NewDatabase): Duration {
  return Duration.days(protect ? BACKUP_DAYS.protected : BACKUP_DAYS.unprotected);
}

function makeCluster(scope: Construct, choice: NewDatabase) {
  const upgrade = { autoMinorVersionUpgrade: true };
  const version = AuroraPostgresEngineVersion.of(POSTGRES, POSTGRES);
  const database = new DatabaseCluster(scope, 'Cluster', {
    ...shared(choice),
    engine: DatabaseClusterEngine.auroraPostgres({ version }),
    writer: ClusterInstance.serverlessV2('Writer', upgrade),
    // With the capacity of the writer, because it takes over.
    ...(choice.standby && {
      readers: [ClusterInstance.serverlessV2('Reader', { ...upgrade, scaleWithWriter: true })],
    }),
    // Not 0: the dispatcher runs every minute, so the cluster would never pause. 0.5 is the smallest other capacity.
    serverlessV2MinCapacity: 0.5,
    serverlessV2MaxCapacity: 8,
    defaultDatabaseName: DATABASE,
    backup: { retention: backupOf(choice) },
  });
  return { database, endpoint: database.clusterEndpoint };
}

function makeInstance(scope: Construct, choice: NewDatabase) {
  const version = PostgresEngineVersion.of(POSTGRES, POSTGRES);
  const database = new DatabaseInstance(scope, 'Instance', {
    ...shared(choice),
    ...GIGABYTES,
    engine: DatabaseInstanceEngine.postgres({ version }),
    instanceType: InstanceType.of(InstanceClass.T4G, InstanceSize.MICRO),
    storageType: StorageType.GP3,
    databaseName: DATABASE,
    multiAz: choice.standby,
    autoMinorVersionUpgrade: true,
    backupRetention: backupOf(choice),
  });
  return { database, endpoint: database.instanceEndpoint };
}

type Database = DatabaseCluster | DatabaseInstance;

interface Login extends Pick<NewDatabase, 'key'> {
  readonly username: string;
  readonly database: Database;
}

function functionsLogin(scope: Construct, database: Database, { login = 'password', key }: NewDatabase): DatabaseLogin {
  const username = FUNCTIONS[login];
  if (login === 'password') return { secret: newLogin(scope, 'Runtime', { username, database, key }) };
  const isCluster = 'clusterEndpoint' in database;
  const resourceId = isCluster ? database.clusterResourceIdentifier : database.instanceResourceId;
  return iamLogin(scope, username, resourceId ?? fail());
}

/** Makes a secret that also contains the engine and the address, which the rotation of Secrets Manager requires. */
function newLogin(scope: Construct, id: string, { username, database, key }: Login): ISecret {
  const secret = new Secret(scope, id, {
    ...(key && { encryptionKey: key }),
    generateSecretString: {
      secretStringTemplate: JSON.stringify({ username }),
      generateStringKey: 'password',
      passwordLength: 40,
      excludePunctuation: true,
    },
  });
  // The interfaces of CDK do not support exactOptionalPropertyTypes.
  return secret.attach(database) as ISecret;
}

function fail(): never {
  throw new Error('the database has neither a secret of its owner nor a resource id');
}

function acknowledgeRules(group: Construct, database: Database, choice: NewDatabase): void {
  const { kind, login, protect, standby } = choice;
  const password = 'Functions log in with passwords of 40 characters, which work with any Postgres.';
  if (kind === 'create' && login !== 'iam') acknowledge(database, 'RDS6', password);
  const port = 'Only the functions can connect, so another port would hide nothing.';
  if (kind === 'small') acknowledge(database, 'RDS11', port);
  if (kind === 'small' && !standby) acknowledge(database, 'RDS3', 'A second instance doubles the price: standby=on.');
  const destroyed = 'The stage is not protected; destroying the stack leaves a snapshot.';
  if (!protect) acknowledge(database, 'RDS10', destroyed);
  const rotation = 'Rotation requires another function in the VPC; functions read a rotated password at once.';
  acknowledge(group, 'SMG4', rotation);
}

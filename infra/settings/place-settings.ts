import { SettingError } from '../../core/errors.ts';
import { type Context, choice, list, optional, present, refuseIdle, required } from './context.ts';
import { check, checkCertificates, checkPort, checkSecrets, FORMS, type Form, formed } from './setting-values.ts';

/** A Postgres that is there already. */
export interface ExistingDatabase {
  readonly kind: 'existing';
  /** ARNs of secrets in the form that RDS gives them: JSON with `username` and `password`. */
  readonly ownerSecret: string;
  readonly runtimeSecret: string;
  readonly appSecret?: string;
  /** Where it is, when the secrets do not say so. */
  readonly host?: string;
  readonly port?: string;
  readonly name?: string;
  /** Path of a PEM file with the certificate authorities of its TLS; default those of RDS. */
  readonly ca?: string;
}

/** That one, or a new one: Aurora Serverless v2 with Postgres, from $44 a month. */
export type DatabaseChoice = ExistingDatabase | { readonly kind: 'create' };

/**
 * How functions in a VPC reach SQS, Lambda and Secrets Manager. Prices a month in two zones, us-east-1:
 * - `endpoints`: an interface endpoint for each, $14.60 an endpoint, $43.80 in all; nothing else on the internet;
 * - `nat`: one NAT gateway, $32.85 and $0.045 a GB; whatever is on the internet, such as a mail server;
 * - `none`: $0; the VPC has a way of its own.
 */
export type Egress = 'endpoints' | 'nat' | 'none';

export interface NetworkChoice {
  /** A VPC that is there already. */
  readonly inside?: {
    readonly vpcId: string;
    readonly subnetIds: readonly string[];
    readonly availabilityZones: readonly string[];
    readonly securityGroupIds: readonly string[];
  };
  readonly egress?: Egress;
}

const OF_EXISTING = [
  ...['databaseOwnerSecret', 'databaseRuntimeSecret', 'databaseAppSecret'],
  ...['databaseHost', 'databasePort', 'databaseName', 'databaseCa'],
];
/** Aurora wants two zones. */
const LEAST_SUBNETS = 2;

/** The database that `-c database=` and what belongs to it choose. */
export function readDatabase(context: Context): DatabaseChoice {
  const kind = choice(context, 'database', ['create', 'existing']);
  if (kind === 'create') {
    refuseIdle(context, OF_EXISTING, 'nothing, since database is create and not existing');
    const subnets = list(context, 'subnetIds').length;
    if (subnets === 0 || subnets >= LEAST_SUBNETS) return { kind };
    throw new SettingError('subnetIds', 'two at least, in two zones, since database is create', subnets);
  }
  const because = `${FORMS.secret.expected}, since database is existing`;
  const secret = (name: string) =>
    check(name, required(context, name, because), { ...FORMS.secret, expected: because });
  const secrets = {
    databaseOwnerSecret: secret('databaseOwnerSecret'),
    databaseRuntimeSecret: secret('databaseRuntimeSecret'),
    databaseAppSecret: formed(context, 'databaseAppSecret', FORMS.secret),
  };
  checkSecrets(secrets);
  const [port, ca] = [optional(context, 'databasePort'), optional(context, 'databaseCa')];
  return {
    kind,
    ownerSecret: secrets.databaseOwnerSecret,
    runtimeSecret: secrets.databaseRuntimeSecret,
    ...present({
      appSecret: secrets.databaseAppSecret,
      host: formed(context, 'databaseHost', FORMS.host),
      port: port === undefined ? undefined : checkPort('databasePort', port),
      name: optional(context, 'databaseName'),
      ca: ca === undefined ? undefined : checkCertificates('databaseCa', ca),
    }),
  };
}

/** The VPC that is there already, if one is named, and the way out of it. */
export function readNetwork(context: Context): NetworkChoice {
  const vpcId = formed(context, 'vpcId', FORMS.vpc);
  const egress =
    context.egress === undefined ? {} : { egress: choice(context, 'egress', ['endpoints', 'nat', 'none']) };
  if (vpcId === undefined) {
    const idle = ['subnetIds', 'availabilityZones', 'securityGroupIds'].find(
      (name) => optional(context, name) !== undefined,
    );
    if (idle !== undefined) throw new SettingError('vpcId', `the id of a VPC, since ${idle} is given`, undefined);
    return egress;
  }
  const subnetIds = ids(context, 'subnetIds', FORMS.subnet);
  const availabilityZones = ids(context, 'availabilityZones', { pattern: /./, expected: 'names of zones' });
  if (availabilityZones.length !== subnetIds.length) {
    throw new SettingError('availabilityZones', `one a subnet, ${subnetIds.length}`, availabilityZones.length);
  }
  const securityGroupIds = ids(context, 'securityGroupIds', FORMS.securityGroup);
  return { inside: { vpcId, subnetIds, availabilityZones, securityGroupIds }, ...egress };
}

function ids(context: Context, name: string, form: Form): string[] {
  const found = list(context, name);
  if (found.length > 0) return found.map((one) => check(name, one, form));
  throw new SettingError(name, 'names with commas between them, since vpcId is given', undefined);
}

import { SettingError } from '../../core/errors.ts';
import { type Context, choice, list, optional, refuseIdle } from './context.ts';
import {
  EXISTING_DATABASE_SETTINGS,
  type ExistingDatabase,
  type LoginChoice,
  readExistingDatabase,
} from './existing-database.ts';
import { check, FORMS, type Form, formed } from './setting-values.ts';

/**
 * An existing database, or a new one with Postgres. Prices in `infra/plan/prices.ts`:
 * - `create`: Aurora Serverless v2;
 * - `small`: an RDS instance, db.t4g.micro.
 */
export type DatabaseChoice = ExistingDatabase | { readonly kind: 'create' | 'small'; readonly login?: LoginChoice };

/**
 * How functions in a VPC reach SQS, Lambda and Secrets Manager. Prices in `infra/plan/prices.ts`:
 * - `ipv6`: an egress-only internet gateway, which is free; access to hosts with an IPv6 address only;
 * - `endpoints`: an interface endpoint for each service; no access to the internet;
 * - `nat`: one NAT gateway; access to the internet, for example to a mail server;
 * - `none`: $0; the VPC provides another route.
 */
export type Egress = 'ipv6' | 'endpoints' | 'nat' | 'none';

export interface NetworkChoice {
  /** A VPC that exists already. */
  readonly inside?: {
    readonly vpcId: string;
    readonly subnetIds: readonly string[];
    readonly availabilityZones: readonly string[];
    readonly securityGroupIds: readonly string[];
  };
  readonly egress?: Egress;
}

/** RDS requires two zones. */
const LEAST_SUBNETS = 2;

/** Returns the database of a stage whose settings name none. */
export function usualDatabase(protect: boolean): 'create' | 'small' {
  return protect ? 'create' : 'small';
}

/** Reads `database` and the settings that belong to it. */
export function readDatabase(context: Context, protect: boolean): DatabaseChoice {
  const kind = choice(context, 'database', ['create', 'small', 'existing'], usualDatabase(protect));
  const login = choice(context, 'databaseLogin', ['password', 'iam']);
  if (kind !== 'existing') {
    refuseIdle(context, EXISTING_DATABASE_SETTINGS, `no value, since database is ${kind} and not existing`);
    const subnets = list(context, 'subnetIds').length;
    if (subnets === 0 || subnets >= LEAST_SUBNETS) return { kind, ...(login === 'iam' && { login }) };
    throw new SettingError('subnetIds', `at least two, in two zones, since database is ${kind}`, subnets);
  }
  return readExistingDatabase(context, login);
}

/** Reads the existing VPC, if one is set, and the egress. */
export function readNetwork(context: Context): NetworkChoice {
  const vpcId = formed(context, 'vpcId', FORMS.vpc);
  const egress =
    context.egress === undefined ? {} : { egress: choice(context, 'egress', ['ipv6', 'endpoints', 'nat', 'none']) };
  if (vpcId === undefined) {
    const idle = ['subnetIds', 'availabilityZones', 'securityGroupIds'].find(
      (name) => optional(context, name) !== undefined,
    );
    if (idle !== undefined) throw new SettingError('vpcId', `the id of a VPC, since ${idle} is set`, undefined);
    return egress;
  }
  const subnetIds = ids(context, 'subnetIds', FORMS.subnet);
  const availabilityZones = ids(context, 'availabilityZones', { pattern: /./, expected: 'names of zones' });
  if (availabilityZones.length !== subnetIds.length) {
    throw new SettingError(
      'availabilityZones',
      `one per subnet, ${subnetIds.length} in total`,
      availabilityZones.length,
    );
  }
  const securityGroupIds = ids(context, 'securityGroupIds', FORMS.securityGroup);
  return { inside: { vpcId, subnetIds, availabilityZones, securityGroupIds }, ...egress };
}

function ids(context: Context, name: string, form: Form): string[] {
  const found = list(context, name);
  if (found.length > 0) return found.map((one) => check(name, one, form));
  throw new SettingError(name, 'a comma-separated list, since vpcId is set', undefined);
}

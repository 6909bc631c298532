import { Duration } from 'aws-cdk-lib';
import { HostedRotation, type ISecret, RotationSchedule } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { SettingError } from '../../core/errors.ts';
import { type RotatedSecret, rotationFunction } from '../plan/rotation-alarm.ts';
import type { DatabaseAccess } from './database.ts';
import type { Place } from './network.ts';

const IDS = { owner: 'Owner', runtime: 'Runtime', app: 'App' } as const;

export interface RotationProps {
  readonly stage: string;
  readonly database: DatabaseAccess;
  readonly place: Place | undefined;
  /** Days between two rotations of a secret; undefined for none. */
  readonly days: number | undefined;
  /** What creates the logins, without which a rotation fails. */
  readonly after: Construct;
}

/**
 * Adds the rotation of Secrets Manager to all secrets of a new database, each with a function that AWS provides.
 * @throws SettingError for `rotation` when there is no new database, or this function could not reach Secrets Manager.
 */
export function addRotation(scope: Construct, { stage, database, place, days, after }: RotationProps): void {
  if (days === undefined) return;
  if (database.endpoint === undefined || place === undefined) {
    throw new SettingError('rotation', 'off, since database is existing: rotate its secrets where they are', days);
  }
  // The function of AWS uses IPv4 alone.
  if (place.ipv6) throw new SettingError('rotation', 'off with egress=ipv6, or egress=endpoints or nat', days);
  // Not in the construct of the database, for which the step that creates the logins waits.
  const group = new Construct(scope, 'Rotation');
  const { vpc, subnets, securityGroups } = place;
  const inside = { vpc, vpcSubnets: { subnets: [...subnets] }, securityGroups: [...securityGroups] };
  for (const [name, secret] of secretsOf(database)) {
    const schedule = new RotationSchedule(group, IDS[name], {
      secret,
      // By name, because an alarm cannot refer to it: CloudFormation creates it in a stack of its own.
      hostedRotation: HostedRotation.postgreSqlSingleUser({ ...inside, functionName: rotationFunction(stage, name) }),
      automaticallyAfter: Duration.days(days),
      // Each deployment that changes the schedule would rotate.
      rotateImmediatelyOnUpdate: false,
    });
    schedule.node.addDependency(after);
  }
}

/** Returns the secrets of a database that are rotated; none without a number of days. */
export function rotatedSecrets(database: DatabaseAccess, days: number | undefined): RotatedSecret[] {
  return days === undefined ? [] : secretsOf(database).map(([name]) => name);
}

/** Functions that log in with tokens have no secret. */
function secretsOf({ owner, runtime, app }: DatabaseAccess): [RotatedSecret, ISecret][] {
  const all = { owner, runtime: 'secret' in runtime ? runtime.secret : undefined, app };
  return Object.entries(all).filter((pair): pair is [RotatedSecret, ISecret] => pair[1] !== undefined);
}

import { Duration } from 'aws-cdk-lib';
import { HostedRotation, type ISecret, RotationSchedule } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { SettingError } from '../../core/errors.ts';
import type { DatabaseAccess } from './database.ts';
import type { Place } from './network.ts';

export interface RotationProps {
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
export function addRotation(scope: Construct, { database, place, days, after }: RotationProps): void {
  if (days === undefined) return;
  if (database.endpoint === undefined || place === undefined) {
    throw new SettingError('rotation', 'off, since database is existing: rotate its secrets where they are', days);
  }
  // The function of AWS uses IPv4 alone.
  if (place.ipv6) throw new SettingError('rotation', 'off with egress=ipv6, or egress=endpoints or nat', days);
  // Not in the construct of the database, for which the step that creates the logins waits.
  const group = new Construct(scope, 'Rotation');
  const { vpc, subnets, securityGroups } = place;
  const { owner, runtime, app } = database;
  const secrets = { Owner: owner, ...('secret' in runtime && { Runtime: runtime.secret }), ...(app && { App: app }) };
  for (const [id, secret] of Object.entries(secrets)) {
    const inside = { vpc, vpcSubnets: { subnets: [...subnets] }, securityGroups: [...securityGroups] };
    const schedule = new RotationSchedule(group, id, {
      secret: secret as ISecret,
      hostedRotation: HostedRotation.postgreSqlSingleUser(inside),
      automaticallyAfter: Duration.days(days),
      // Each deployment that changes the schedule would rotate.
      rotateImmediatelyOnUpdate: false,
    });
    schedule.node.addDependency(after);
  }
}

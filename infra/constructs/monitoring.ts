import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct, IDependable } from 'constructs';
import { logGroupName } from '../../core/handler/naming.ts';
import { alarmsOf, type WatchedStage } from '../plan/alarms.ts';
import { dashboardOf } from '../plan/dashboard.ts';
import type { AlarmTarget } from '../settings/monitoring-settings.ts';
import { DeployedAlarms } from './deployed-alarms.ts';
import { DeployedDashboard } from './deployed-dashboard.ts';

export interface MonitoringProps extends WatchedStage {
  /** What alarms notify; `false` for no alarms. */
  readonly target: AlarmTarget | false;
  readonly after: IDependable;
  readonly dashboard: boolean;
  /** What encrypts a new topic; undefined for none. */
  readonly key: IKey | undefined;
  /** Names of the functions of the handlers. */
  readonly functionNames: readonly string[];
}

/** Adds the alarms and the dashboard of a stage. */
export function addMonitoring(scope: Construct, props: MonitoringProps): void {
  const { target, after, dashboard, functionNames, key, ...watched } = props;
  const { stage } = watched;
  const specs = alarmsOf(watched);
  const { alarms } = target
    ? new DeployedAlarms(scope, 'Alarms', { stage, specs, target, after, key })
    : { alarms: [] };
  if (!dashboard) return;
  // By name: a reference to each log group would make them outputs of their nested stack.
  const logGroupNames = functionNames.map(logGroupName);
  new DeployedDashboard(scope, 'Dashboard', { stage, rows: dashboardOf(stage), alarms, logGroupNames });
}

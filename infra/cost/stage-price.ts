import { alarmsOf } from '../plan/alarms.ts';
import { type PriceLine, restLines } from '../plan/prices.ts';
import type { Context } from '../settings/context.ts';
import { readSettings } from '../settings/settings.ts';

const SECRET = 'arn:aws:secretsmanager:us-east-1:123456789012:secret';

/** The stages whose prices docs/deploy.md lists, with their settings. */
export const STAGES = {
  try: { stage: 'dev', database: 'existing' },
  dev: { stage: 'dev' },
  small: { stage: 'prod', database: 'small' },
  production: { stage: 'prod', standby: 'on', egress: 'nat' },
} as const satisfies Record<string, Context>;

export type StageKind = keyof typeof STAGES;

/** Returns what a stage with these settings costs at rest. An existing database needs no secrets here. */
export function stagePrice(given: Context, handlers: number): PriceLine[] {
  const secrets = {
    databaseOwnerSecret: `${SECRET}:owner-AbCdEf`,
    databaseRuntimeSecret: `${SECRET}:runtime-AbCdEf`,
  };
  const settings = readSettings({ stage: 'dev', ...given, ...(given.database === 'existing' && secrets) });
  const apiId = settings.api.mode === 'off' ? {} : { apiId: 'api' };
  const database = { create: { clusterId: 'x' }, small: { instanceId: 'x' }, existing: {} }[settings.database.kind];
  const alarms = alarmsOf({ stage: settings.stage, ...apiId, ...database });
  const alarmMetrics = alarms.reduce((sum, { metrics }) => sum + Object.keys(metrics).length, 0);
  return restLines(settings, { handlers, alarmMetrics });
}

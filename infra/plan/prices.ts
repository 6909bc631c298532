import { CLOUDWATCH_METRICS } from '../../core/numbers/metric-table.ts';
import type { Settings } from '../settings/settings.ts';

const HOURS = 730;
/** A second instance, in another zone, costs what the first does. */
const INSTANCES = { alone: 1, standby: 2 };
const ZONES = 2;

/** Prices in us-east-1, in dollars a month, without free tiers. */
export const PRICES = {
  /** Aurora Serverless v2 at half a capacity unit. */
  cluster: 0.12 * 0.5 * HOURS,
  /** db.t4g.micro, and 20 GB. */
  instance: 0.016 * HOURS + 0.115 * 20,
  /** One interface endpoint in two zones. */
  endpoint: 0.01 * ZONES * HOURS,
  /** A NAT gateway and its public address. */
  nat: (0.045 + 0.005) * HOURS,
  secret: 0.4,
  /** A dispatcher that is invoked every minute and finds nothing. */
  tick: 0.05,
  /** A dispatcher that always runs. */
  loop: 9,
  /** The requests of an idle function that polls its queue. */
  polling: 0.26,
  /** Each metric that an alarm watches. */
  alarmMetric: 0.1,
  compositeAlarm: 0.5,
  metric: 0.3,
  dashboard: 3,
} as const;

type Priced = Pick<
  Settings,
  'alarms' | 'api' | 'dashboard' | 'database' | 'dispatch' | 'metrics' | 'metricsByJobType' | 'network' | 'standby'
>;

/** What the price depends on besides the settings. */
export interface PricedHandlers {
  readonly handlers: number;
  /** How many metrics the alarms of the stage watch. */
  readonly alarmMetrics: number;
}

/** Returns what a stage costs a month at rest, if it publishes every metric. */
export function monthlyPrice(settings: Priced, { handlers, alarmMetrics }: PricedHandlers): number {
  const { alarms, dashboard, dispatch } = settings;
  const parts = [
    databasePrice(settings),
    egressPrice(settings),
    dispatch === 'loop' ? PRICES.loop : PRICES.tick,
    handlers * PRICES.polling,
    alarms === false ? 0 : alarmMetrics * PRICES.alarmMetric + PRICES.compositeAlarm,
    metricCount(settings, handlers) * PRICES.metric,
    dashboard ? PRICES.dashboard : 0,
  ];
  return parts.reduce((sum, part) => sum + part, 0);
}

function databasePrice({ database, standby }: Priced): number {
  const isWithoutApp = database.kind === 'existing' && database.appSecret === undefined;
  const secrets = PRICES.secret * (3 - Number(isWithoutApp) - Number(database.login === 'iam'));
  if (database.kind === 'existing') return secrets;
  const instances = standby ? INSTANCES.standby : INSTANCES.alone;
  return instances * (database.kind === 'create' ? PRICES.cluster : PRICES.instance) + secrets;
}

function egressPrice({ network, database, api }: Priced): number {
  const isNew = database.kind !== 'existing' && network.inside === undefined;
  if (network.egress === 'endpoints') return (api.mode === 'off' ? 2 : 3) * PRICES.endpoint;
  return isNew && network.egress === 'nat' ? PRICES.nat : 0;
}

function metricCount({ metrics, metricsByJobType }: Priced, jobTypes: number): number {
  if (!metrics) return 0;
  const all = Object.values(CLOUDWATCH_METRICS);
  const byJobType = all.filter(({ dimensions }) => dimensions.some((names: readonly string[]) => names.length > 1));
  return all.length + (metricsByJobType ? jobTypes * byJobType.length : 0);
}

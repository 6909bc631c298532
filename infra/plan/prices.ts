import { OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { CLOUDWATCH_METRICS } from '../../core/numbers/metric-table.ts';
import type { Settings } from '../settings/settings.ts';
import { HOURS, UNIT_PRICES } from './unit-prices.ts';

const SECONDS = HOURS * 3600;
const MINUTES = HOURS * 60;
/** A second instance, in another zone, costs what the first does. */
const INSTANCES = { alone: 1, standby: 2 };
const ZONES = 2;
/** Lambda keeps this number of pollers for each queue whose concurrency has a maximum, each with long polls of 20 s. */
const POLLERS = 5;
const LONG_POLL_SECONDS = 20;
/** Billed duration of a tick of the dispatcher that finds nothing, and of the mirror. An assumption. */
const TICK_SECONDS = 0.25;
/** How long a run of the dispatcher continues beside the one that replaces it. */
const OVERLAP_SECONDS = 1;
/** What the mirror requests of an empty dead-letter queue: its depth each minute, and a sweep each 15 minutes. */
export const MIRROR_REQUESTS = { check: 1, sweep: 2 };
const SWEEPS = MINUTES / 15;

/** One line of a bill: what a service charges a month. */
export interface PriceLine {
  readonly service: string;
  /** What it charges for. */
  readonly what: string;
  /** Number of requests, for a service that counts them. */
  readonly requests?: number;
  readonly gbSeconds?: number;
  readonly dollars: number;
}

type Amount = Omit<PriceLine, 'service' | 'what'>;

/** Returns the price of invocations of a function that are billed for `seconds` each. */
export function lambdaPrice(invocations: number, seconds: number, memoryMb: number) {
  const { lambdaRequest, lambdaGbSecond } = UNIT_PRICES;
  const gbSeconds = invocations * seconds * (memoryMb / 1024);
  const dollars = invocations * lambdaRequest.dollars + gbSeconds * lambdaGbSecond.dollars;
  return { requests: invocations, gbSeconds, dollars } satisfies Amount;
}

/** Returns the price of requests of SQS. */
export function sqsPrice(requests: number) {
  return { requests, dollars: requests * UNIT_PRICES.sqsRequest.dollars } satisfies Amount;
}

const { memoryMb } = OWN_FUNCTIONS.dispatcher;
/** What the functions of a stage use in a month. */
export const LAMBDA = {
  /** A dispatcher that is invoked every minute and finds nothing. */
  tick: lambdaPrice(MINUTES, TICK_SECONDS, memoryMb),
  /** A dispatcher that always runs. */
  loop: lambdaPrice(MINUTES, 60 + OVERLAP_SECONDS, memoryMb),
  /** The mirror, which runs every minute. */
  mirror: lambdaPrice(MINUTES, TICK_SECONDS, OWN_FUNCTIONS['dlq-mirror'].memoryMb),
};
const SQS = {
  polling: sqsPrice(POLLERS * (SECONDS / LONG_POLL_SECONDS)),
  mirroring: sqsPrice(MINUTES * MIRROR_REQUESTS.check + SWEEPS * MIRROR_REQUESTS.sweep),
};
const unit = (name: keyof typeof UNIT_PRICES) => UNIT_PRICES[name].dollars;

/** Prices in us-east-1, in dollars a month, without free tiers. */
export const PRICES = {
  /** Aurora Serverless v2 at half a capacity unit. */
  cluster: unit('auroraUnitHour') * 0.5 * HOURS,
  /** db.t4g.micro, and 20 GB. */
  instance: unit('instanceHour') * HOURS + unit('storageGb') * 20,
  /** One interface endpoint in two zones. */
  endpoint: unit('endpointHour') * ZONES * HOURS,
  /** A NAT gateway and its public address. */
  nat: (unit('natHour') + unit('addressHour')) * HOURS,
  secret: unit('secret'),
  tick: LAMBDA.tick.dollars,
  loop: LAMBDA.loop.dollars,
  mirror: LAMBDA.mirror.dollars,
  /** The schedules that invoke the dispatcher and the mirror. */
  schedules: 2 * MINUTES * unit('schedulerInvocation'),
  /** The requests of an idle function that polls its queue. */
  polling: SQS.polling.dollars,
  /** The requests of the mirror for an empty dead-letter queue. */
  mirroring: SQS.mirroring.dollars,
  /** Each metric that an alarm watches. */
  alarmMetric: unit('alarmMetric'),
  compositeAlarm: unit('compositeAlarm'),
  metric: unit('metric'),
  dashboard: unit('dashboard'),
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

export function sumOf(lines: readonly PriceLine[]): number {
  return lines.reduce((sum, { dollars }) => sum + dollars, 0);
}

/** Returns what a stage costs a month at rest, if it publishes every metric. */
export function restLines(settings: Priced, { handlers, alarmMetrics }: PricedHandlers): PriceLine[] {
  const { alarms, dashboard, dispatch } = settings;
  const of = (service: string, what: string, amount: Amount | number): PriceLine => ({
    ...{ service, what },
    ...(typeof amount === 'number' ? { dollars: amount } : amount),
  });
  const lines = [
    of('SQS', 'idle polling', times(handlers, SQS.polling)),
    of('SQS', 'mirror', times(handlers, SQS.mirroring)),
    of('Lambda', 'dispatcher', dispatch === 'loop' ? LAMBDA.loop : LAMBDA.tick),
    of('Lambda', 'mirror', LAMBDA.mirror),
    of('EventBridge', 'two schedules', { requests: 2 * MINUTES, dollars: PRICES.schedules }),
    of('CloudWatch', 'alarms', alarms === false ? 0 : alarmMetrics * PRICES.alarmMetric + PRICES.compositeAlarm),
    of('CloudWatch', 'metrics', metricCount(settings, handlers) * PRICES.metric),
    of('CloudWatch', 'dashboard', dashboard ? PRICES.dashboard : 0),
    of('Secrets', 'database logins', secretCount(settings) * PRICES.secret),
    of('Database', settings.database.kind, databasePrice(settings)),
    of('Network', settings.network.egress ?? 'free', egressPrice(settings)),
  ];
  return lines.filter(({ dollars }) => dollars > 0);
}

function times(factor: number, { requests, dollars }: Amount & { readonly requests: number }): Amount {
  return { requests: factor * requests, dollars: factor * dollars };
}

function secretCount({ database }: Priced): number {
  const isWithoutApp = database.kind === 'existing' && database.appSecret === undefined;
  return 3 - Number(isWithoutApp) - Number(database.login === 'iam');
}

function databasePrice({ database, standby }: Priced): number {
  if (database.kind === 'existing') return 0;
  const instances = standby ? INSTANCES.standby : INSTANCES.alone;
  return instances * (database.kind === 'create' ? PRICES.cluster : PRICES.instance);
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

/** Hours of a month, as AWS counts them in its examples. */
export const HOURS = 730;
const MILLION = 1_000_000;

/** The price of one unit in us-east-1, in dollars, without free tiers. */
export interface UnitPrice {
  readonly dollars: number;
  /** What one unit is, with the article. */
  readonly unit: string;
  /** Month of the copy of the price list or price page that was read. */
  readonly date: string;
  /** Page on which AWS publishes the price. */
  readonly source: string;
}

function price(dollars: number, unit: string, date: string, page: string): UnitPrice {
  return { dollars, unit, date, source: `aws.amazon.com/${page}/pricing` };
}

const VPC = 'vpc';
const CLOUDWATCH = 'cloudwatch';
const SECRETS = 'secrets-manager';

/** Every price that the computations use. Change a price only together with its date. */
export const UNIT_PRICES = {
  sqsRequest: price(0.4 / MILLION, 'a request of a standard queue', '2026-09', 'sqs'),
  lambdaRequest: price(0.2 / MILLION, 'an invocation', '2026-09', 'lambda'),
  lambdaGbSecond: price(0.0000133334, 'a GB-second on arm64', '2026-09', 'lambda'),
  schedulerInvocation: price(1 / MILLION, 'an invocation by EventBridge Scheduler', '2026-03', 'eventbridge'),
  httpRequest: price(1 / MILLION, 'a request to an HTTP API', '2026-09', 'api-gateway'),
  logGb: price(0.5, 'a GB of logs', '2026-09', CLOUDWATCH),
  metric: price(0.3, 'a metric and month', '2026-09', CLOUDWATCH),
  alarmMetric: price(0.1, 'a metric that an alarm watches, and month', '2026-09', CLOUDWATCH),
  compositeAlarm: price(0.5, 'a composite alarm and month', '2026-09', CLOUDWATCH),
  dashboard: price(3, 'a dashboard and month', '2026-09', CLOUDWATCH),
  auroraUnitHour: price(0.12, 'a capacity unit (ACU) and hour', '2026-11', 'rds/aurora'),
  instanceHour: price(0.016, 'an hour of db.t4g.micro', '2026-06', 'rds/postgresql'),
  storageGb: price(0.115, 'a GB of gp3 storage and month', '2026-06', 'rds/postgresql'),
  secret: price(0.4, 'a secret and month', '2026-11', SECRETS),
  endpointHour: price(0.01, 'an hour of an interface endpoint in one zone', '2026-11', 'privatelink'),
  natHour: price(0.045, 'an hour of a NAT gateway', '2026-11', VPC),
  addressHour: price(0.005, 'an hour of a public IPv4 address', '2026-11', VPC),
  transition: price(25 / MILLION, 'a state transition of a standard workflow', '2026-03', 'step-functions'),
  expressRequest: price(1 / MILLION, 'an execution of an express workflow', '2026-03', 'step-functions'),
  expressGbSecond: price(0.00001667, 'a GB-second of an express workflow', '2026-03', 'step-functions'),
  fargateVcpuHour: price(0.03238, 'a vCPU-hour on arm64', '2026-03', 'fargate'),
  fargateGbHour: price(0.00356, 'a GB-hour on arm64', '2026-03', 'fargate'),
} as const satisfies Record<string, UnitPrice>;

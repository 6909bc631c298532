import { type AlarmSpec, ONCE } from './alarm.ts';
import { NEW_DATABASE_CONNECTIONS, SMALL_DATABASE_CONNECTIONS } from './capacity.ts';

const FIVE_MINUTES = 300;
const HOUR = 3600;
const NEARLY = 0.8;
const BUSY_PERCENT = 90;
const STORED_BYTES = 100 * 1024 ** 3;
const FREE_BYTES = 1024 ** 3;

const TICKET = {
  ...ONCE,
  severity: 'ticket',
  command: 'npx millrace stats',
  anchor: 'the-database-grows-or-counting-lags',
} as const;
/** Connections can be many for a moment, for example during a deployment. */
const CONNECTIONS = { datapoints: 2, periods: 3 };
const BUSY = { threshold: BUSY_PERCENT, datapoints: 3, periods: 3 };

function metricOf(
  dimensions: Readonly<Record<string, string>>,
  name: string,
  statistic: string,
  periodSeconds: number,
) {
  return { metrics: { metric: { namespace: 'AWS/RDS', name, dimensions, statistic, periodSeconds } } };
}

/** Returns the alarms on a cluster that the stage created. */
export function clusterAlarms(stage: string, DBClusterIdentifier: string): AlarmSpec[] {
  const of = (name: string, periodSeconds: number) => metricOf({ DBClusterIdentifier }, name, 'Maximum', periodSeconds);
  return [
    {
      ...{ ...TICKET, ...CONNECTIONS, name: `millrace-${stage}-database-connections` },
      ...of('DatabaseConnections', FIVE_MINUTES),
      threshold: Math.floor(NEARLY * NEW_DATABASE_CONNECTIONS),
      meaning: `The database uses more than 80 % of its ${NEW_DATABASE_CONNECTIONS} connections.`,
    },
    {
      ...{ ...TICKET, ...BUSY, name: `millrace-${stage}-database-busy`, ...of('ACUUtilization', FIVE_MINUTES) },
      meaning: 'The database has been close to its largest capacity for 15 minutes.',
    },
    {
      ...{ ...TICKET, name: `millrace-${stage}-database-storage`, ...of('VolumeBytesUsed', HOUR) },
      threshold: STORED_BYTES,
      meaning: 'The database stores more than 100 GiB. It does not fill up, but AWS charges for it.',
    },
  ];
}

/** Returns the alarms on an instance that the stage created. */
export function instanceAlarms(stage: string, DBInstanceIdentifier: string): AlarmSpec[] {
  const of = (name: string, statistic: string) => metricOf({ DBInstanceIdentifier }, name, statistic, FIVE_MINUTES);
  return [
    {
      ...{ ...TICKET, ...CONNECTIONS, name: `millrace-${stage}-instance-connections` },
      ...of('DatabaseConnections', 'Maximum'),
      threshold: Math.floor(NEARLY * SMALL_DATABASE_CONNECTIONS),
      meaning: `The database uses more than 80 % of its connections, of which it has about ${SMALL_DATABASE_CONNECTIONS}.`,
    },
    {
      ...{ ...TICKET, ...BUSY, name: `millrace-${stage}-instance-busy`, ...of('CPUUtilization', 'Average') },
      meaning: 'The processor of the database has been busy for more than 90 % of 15 minutes.',
    },
    {
      ...{ ...TICKET, name: `millrace-${stage}-instance-storage`, ...of('FreeStorageSpace', 'Minimum') },
      ...{ comparison: '<', threshold: FREE_BYTES },
      meaning: 'The database has less than 1 GiB of free storage. It grows to 100 GB, and stops when that is full.',
    },
  ];
}

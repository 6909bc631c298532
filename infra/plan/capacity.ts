import type { DatabaseChoice } from '../settings/place-settings.ts';
import type { HandlerPlan } from './handler-plan.ts';

/** AWS refuses a reservation that leaves less concurrency for functions without one. */
const KEPT_UNRESERVED = 100;
/** Two runs that overlap, nudges of which one begins in a second and takes about two, and one for other events. */
export const DISPATCHER_CONCURRENCY = 5;
/** Nothing else limits the number of requests that the API serves at once. */
export const API_CONCURRENCY = 10;
/** The mirror, and a deploy step. */
const OTHER_CONCURRENCY = 2;
/** What the dispatcher and the API require at least, in an account that is too small for reservations. */
const LEAST = { dispatcher: 2, api: 1 };
/** `max_connections` of Aurora Serverless v2 with at most 8 ACUs is 1669. */
export const NEW_DATABASE_CONNECTIONS = 1669;
/** `max_connections` of a db.t4g.micro depends on the memory that RDS leaves to Postgres. AWS does not document it. */
export const SMALL_DATABASE_CONNECTIONS = 80;

/** What limits a stage: concurrent invocations in the account and region, and connections. */
export interface Capacity {
  readonly accountConcurrency: number;
  /** `max_connections` of the database; undefined when unknown. */
  readonly maxConnections: number | undefined;
}

/** Reserved concurrency; undefined for a function that shares what the account has. */
export interface Reserves {
  readonly dispatcher: number | undefined;
  readonly api: number | undefined;
}

/** Returns the limit of a new database; undefined for an existing one, whose limit only a setting can tell. */
export function connectionsOf({ kind }: DatabaseChoice): number | undefined {
  return kind === 'create' ? NEW_DATABASE_CONNECTIONS : undefined;
}

/**
 * Returns what to reserve. The dispatcher always gets its own, so that handlers never keep its tick from running; the
 * API if its connections are counted.
 */
export function reserves({ accountConcurrency, maxConnections }: Capacity): Reserves {
  const free = accountConcurrency - KEPT_UNRESERVED;
  const dispatcher = free >= DISPATCHER_CONCURRENCY ? DISPATCHER_CONCURRENCY : undefined;
  const api = maxConnections !== undefined && free >= DISPATCHER_CONCURRENCY + API_CONCURRENCY;
  return { dispatcher, api: api ? API_CONCURRENCY : undefined };
}

/** Returns a sentence if the functions of a stage could need more concurrency than the account has. */
export function concurrencyFault(handlers: readonly HandlerPlan[], capacity: Capacity, hasApi: boolean): string[] {
  const { accountConcurrency: most } = capacity;
  const reserved = reserves(capacity);
  const api = hasApi ? (reserved.api ?? LEAST.api) : 0;
  const others = (reserved.dispatcher ?? LEAST.dispatcher) + api + OTHER_CONCURRENCY;
  const sum = handlers.reduce((total, { concurrency }) => total + concurrency, 0);
  if (sum + others <= most) return [];
  return [
    `accountConcurrency: up to ${sum + others} functions can run at once (${sum} for handlers, ${others} for the others), and the account allows ${most}; lower concurrency, first that of ${widest(handlers)}, or have AWS raise the limit of the account, then set accountConcurrency`,
  ];
}

/** Returns the handler with the highest concurrency, with that number. */
export function widest(handlers: readonly HandlerPlan[]): string {
  const [first] = handlers.toSorted((one, other) => other.concurrency - one.concurrency);
  return `${first?.name ?? 'no handler'} (${first?.concurrency ?? 0})`;
}

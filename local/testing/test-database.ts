import type { Duration } from '../../core/duration.ts';
import type { HandlerDefinition } from '../../core/handler/handler.ts';
import type { PayloadSchema } from '../../core/handler/payload.ts';
import type { DrainedRun, DrainOptions } from '../../core/testing/drained-run.ts';
import type { GivenValues } from '../../core/testing/given-values.ts';

/** Beginning of the name of each database; the shared server drops those without a session of the same name. */
export const PREFIX = 'millrace_test_';

/** A handler with any payload. */
// biome-ignore lint/suspicious/noExplicitAny: a list of handlers has a different payload for each of them.
export type AnyHandler = HandlerDefinition<PayloadSchema<any>>;

/** `settings` and `secrets` are those of `drain`. */
export interface OpenOptions extends GivenValues {
  /** The handlers that are deployed, with their schedules. Default: none. */
  readonly handlers?: readonly AnyHandler[];
  /** The time that the clock of the database shows. Default: the present time. */
  readonly now?: Date | string;
  /**
   * Address of a Postgres server, with a login that may create databases and roles: `postgres://user:password@host/db`.
   */
  readonly serverUrl?: string;
}

/** A connection to the database, for `enqueue` and for SQL. */
export interface TestClient {
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }>;
}

/** A database of its own for a test file. */
export interface TestDatabase extends TestClient {
  /** The address of the database, for the pool of an application. */
  readonly connectionString: string;
  /** Runs `work` in one transaction, which is rolled back if `work` throws. */
  transaction<T>(work: (client: TestClient) => Promise<T>): Promise<T>;
  /** Deploys these handlers with their schedules, and removes all others: their jobs wait. */
  deploy(handlers: readonly AnyHandler[]): Promise<void>;
  /**
   * Runs due jobs one after another, by priority and age. Then moves the clock to the next retry, run time or tick of a
   * schedule, and runs what is due then: until no job waits, or until the time `until`. Returns the attempts in their
   * order.
   * @throws Error after `maxRuns` attempts, and when a due job cannot be claimed
   */
  drain(options?: DrainOptions): Promise<DrainedRun[]>;
  /** Deletes all jobs, and sets the clock to its first time. */
  clear(): Promise<void>;
  /** Returns the time that the clock shows. */
  now(): Promise<Date>;
  /** Sets the clock. No job runs until `drain`. */
  setNow(now: Date | string): Promise<void>;
  /** Moves the clock ahead. */
  advance(duration: Duration): Promise<void>;
  /** Ends the connections and drops the database. It is dropped without this call, too, after its process has ended. */
  close(): Promise<void>;
}

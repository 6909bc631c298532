import { optionalSetting } from '../../core/config.ts';
import { messageOf } from '../../core/failure.ts';
import { openLog } from '../../core/log.ts';
import { type Database, openDatabase } from '../../core/postgres/database.ts';
import { findHiddenStack } from '../../local/lock-holder.ts';
import { type FoundState, findState, isRunning } from '../../local/state.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { printHint } from '../screen/terminal.ts';
import { type ApiAddress, readApiAddress } from './api-address.ts';
import { type DatabaseAddress, readAddress } from './database-address.ts';
import { databaseFailure } from './database-failure.ts';

/** The longest time for a statement, in milliseconds; longer than in a function, since Ctrl-C can end it. */
const STATEMENT_TIMEOUT_MS = 30_000;
/** The longest wait for a connection, short because a person is waiting. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** The name of the CLI's connections in `pg_stat_activity`. */
export const CONNECTION_NAME = 'millrace-cli';

/** Where the jobs of a command are, and how to reach them. */
export type Target =
  | { readonly by: 'database'; readonly address: DatabaseAddress }
  | { readonly by: 'api'; readonly address: ApiAddress };

const NAME_ONE = ', or name a database with --database-url or an API with --api-url';

/** Returns the target of the flags, else of the environment, else the stack of this folder or one above it. */
export async function findTarget({ databaseUrl, apiUrl }: GlobalOptions, otherwise = NAME_ONE): Promise<Target> {
  if (databaseUrl !== undefined && apiUrl !== undefined) {
    throw new CommandFailure(EXIT.usage, 'use --database-url or --api-url, not both: each selects where the jobs are');
  }
  if (databaseUrl !== undefined) return { by: 'database', address: readAddress(databaseUrl, '--database-url') };
  if (apiUrl !== undefined) return { by: 'api', address: readApiAddress(apiUrl, '--api-url') };
  const database = optionalSetting('DATABASE_URL');
  if (database !== undefined) return { by: 'database', address: readAddress(database, 'DATABASE_URL') };
  const api = optionalSetting('MILLRACE_API_URL');
  if (api !== undefined) return { by: 'api', address: readApiAddress(api, 'MILLRACE_API_URL') };
  const { state } = await findStack(otherwise);
  return { by: 'database', address: readAddress(state.databaseUrl, '.millrace/dev.json') };
}

/** Returns whether a flag or the environment names the target. The target is then not the stack of this folder. */
export function namesTarget({ databaseUrl, apiUrl }: GlobalOptions): boolean {
  const named = [databaseUrl, apiUrl, optionalSetting('DATABASE_URL'), optionalSetting('MILLRACE_API_URL')];
  return named.some((address) => address !== undefined);
}

/** Returns the database of a command. @throws CommandFailure when the options name an API instead. */
export async function findDatabase(options: GlobalOptions): Promise<DatabaseAddress> {
  const { by, address } = await findTarget(options);
  if (by === 'api') throw needsDatabase(address);
  return address;
}

function needsDatabase({ label }: ApiAddress): CommandFailure {
  return new CommandFailure(
    EXIT.usage,
    `this command requires a database, not the API at ${label}: name one with --database-url or DATABASE_URL`,
  );
}

/** Returns the running stack of this folder or above it; `otherwise` is an alternative to name if none runs. */
export async function findStack(otherwise = ''): Promise<FoundState> {
  const found = await findState().catch((error: unknown) => {
    refuseHiddenStack();
    throw new CommandFailure(EXIT.unreachable, messageOf(error));
  });
  if (found !== undefined && (await isRunning(found.state))) return found;
  refuseHiddenStack();
  if (found === undefined) {
    throw new CommandFailure(
      EXIT.unreachable,
      `no stack runs in this folder or above it: start one with npx millrace dev${otherwise}`,
    );
  }
  throw new CommandFailure(
    EXIT.unreachable,
    `the stack of ${found.folder} has stopped (its process ${found.state.pid} is gone): start it again with npx millrace dev` +
      otherwise,
  );
}

/** @throws CommandFailure when a stack runs in this folder or above it, and its state is not where commands find it. */
function refuseHiddenStack(): void {
  const hidden = findHiddenStack();
  if (hidden !== undefined) throw new CommandFailure(EXIT.unreachable, hidden);
}

/** Runs `work` with one connection; its failures become sentences that name only the host and the database. */
export async function withDatabase<T>(options: GlobalOptions, work: (db: Database) => Promise<T>): Promise<T> {
  return withDatabaseAt(await findDatabase(options), work);
}

export async function withDatabaseAt<T>(address: DatabaseAddress, work: (db: Database) => Promise<T>): Promise<T> {
  printHint(`Database: ${address.label}`);
  const db = openDatabase({
    connectionString: address.url,
    max: 1,
    name: CONNECTION_NAME,
    // A lost connection makes the next statement fail.
    log: openLog(() => undefined),
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  try {
    return await work(db);
  } catch (error) {
    throw databaseFailure(error, address);
  } finally {
    await db.close().catch(() => undefined);
  }
}

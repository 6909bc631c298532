import { optionalSetting } from '../core/config.ts';
import { type Database, openDatabase } from '../core/database.ts';
import { openLog } from '../core/log.ts';
import { type FoundState, findState, isRunning } from '../local/state.ts';
import { CommandFailure } from './command-failure.ts';
import { type DatabaseAddress, readAddress } from './database-address.ts';
import { databaseFailure } from './database-failure.ts';
import { EXIT } from './exit-code.ts';
import { whisper } from './terminal.ts';

/** Longest wait for a connection: a person is waiting too. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** How our connections are called in `pg_stat_activity`. */
export const CONNECTION_NAME = 'millrace-cli';

/** What every command can be told. */
export interface GlobalOptions {
  readonly databaseUrl?: string;
  readonly json?: boolean;
}

/**
 * The database that a command is about: the flag, else the environment, else the stack that runs in this folder or
 * above it.
 */
export async function findDatabase({ databaseUrl }: GlobalOptions): Promise<DatabaseAddress> {
  if (databaseUrl !== undefined) return readAddress(databaseUrl, '--database-url');
  const setting = optionalSetting('DATABASE_URL');
  if (setting !== undefined) return readAddress(setting, 'DATABASE_URL');
  const { state } = await findStack(', or name a database with --database-url');
  return readAddress(state.databaseUrl, '.millrace/dev.json');
}

/** The running stack of this folder or of one above it; `otherwise` is what else a person could do without one. */
export async function findStack(otherwise = ''): Promise<FoundState> {
  const found = await findState().catch((error: unknown) => {
    throw new CommandFailure(EXIT.unreachable, error instanceof Error ? error.message : String(error));
  });
  if (found === undefined) {
    throw new CommandFailure(
      EXIT.unreachable,
      `no stack runs in this folder or above it: start one with npm start${otherwise}`,
    );
  }
  if (await isRunning(found.state)) return found;
  throw new CommandFailure(
    EXIT.unreachable,
    `the stack of ${found.folder} has ended, since its process ${found.state.pid} is gone: start it again with npm start` +
      otherwise,
  );
}

/** One connection for the length of `work`; its failures become sentences that name host and database only. */
export async function withDatabase<T>(options: GlobalOptions, work: (db: Database) => Promise<T>): Promise<T> {
  const address = await findDatabase(options);
  whisper(`Database: ${address.label}`);
  const db = openDatabase({
    connectionString: address.url,
    max: 1,
    name: CONNECTION_NAME,
    // A lost connection shows in the next statement.
    log: openLog(() => undefined),
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  });
  try {
    return await work(db);
  } catch (error) {
    throw databaseFailure(error, address);
  } finally {
    await db.close().catch(() => undefined);
  }
}

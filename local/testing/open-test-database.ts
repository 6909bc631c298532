import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { optionalSetting } from '../../core/config.ts';
import { seconds } from '../../core/duration.ts';
import type { EnqueueClient } from '../../core/enqueue/enqueue-client.ts';
import { SettingError } from '../../core/errors.ts';
import { checkKeys } from '../../core/handler/policy-fields.ts';
import { openLog } from '../../core/log.ts';
import { serversOf } from '../../core/postgres/address.ts';
import { makePool, openClient } from '../../core/postgres/connect.ts';
import { openDatabase } from '../../core/postgres/database.ts';
import { governClock, readClock, setClock } from '../../core/testing/clock.ts';
import { deploy } from '../../core/testing/deploy.ts';
import { type Drained, drain } from '../../core/testing/drain.ts';
import { emptyTables } from '../../core/testing/empty-tables.ts';
import { copyDatabase, dropDatabase, ensureTemplate, openServer, withDatabase } from '../../core/testing/template.ts';
import { isGone, sharedServer } from './shared-server.ts';
import { type OpenOptions, PREFIX, type TestDatabase } from './test-database.ts';

const CONNECT_TIMEOUT_MS = 30_000;
/** Tries to open a database on the shared server, which may stop at the same moment. */
const TRIES = 3;
const ENGINE = {
  max: 2,
  name: 'millrace-testing',
  log: openLog(() => undefined),
  statementTimeoutMs: 60_000,
};
const OPTIONS = ['handlers', 'now', 'serverUrl', 'settings', 'secrets'];

/** A database on a server, without connections. */
interface Created {
  readonly connectionString: string;
  /** Drops the database. */
  drop(): Promise<void>;
}

/** Opens a database, as `testing.ts` documents. */
export async function openTestDatabase(options: OpenOptions): Promise<TestDatabase> {
  checkKeys('openTestDatabase(options)', options, OPTIONS);
  const { handlers = [], now = new Date(), serverUrl } = options;
  const { settings = {}, secrets = {} } = options;
  const begin = timeOf(now, 'now');
  const { connectionString, drop } = await create(serverUrl ?? optionalSetting('MILLRACE_TEST_DATABASE_URL'));
  const engine = openDatabase({ connectionString, ...ENGINE });
  const close = async () => {
    await engine.close();
    await drop();
  };
  try {
    await governClock(engine, begin);
    await deploy(engine, handlers);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    connectionString,
    ...connect(connectionString, close),
    ...governed({ db: engine, handlers, given: { settings, secrets } }, begin),
  };
}

async function create(serverUrl: string | undefined): Promise<Created> {
  if (serverUrl !== undefined) return createOn(serverUrl);
  let server = await sharedServer();
  for (let attempt = 1; ; attempt++) {
    try {
      return await createOn(server.url);
    } catch (error) {
      if (attempt === TRIES || !isGone(error)) throw error;
      server = await sharedServer(server);
    }
  }
}

/** Creates a database. A session has its name as long as this process lives. */
async function createOn(url: string): Promise<Created> {
  const name = `${PREFIX}${randomBytes(6).toString('hex')}`;
  const presence = await openPresence(url, name);
  const server = openServer(url);
  const end = () => Promise.all([server.close(), presence.end()]);
  try {
    await copyDatabase(server, name, await ensureTemplate(server, url));
  } catch (error) {
    await end();
    throw error;
  }
  const drop = async () => {
    await dropDatabase(server, name).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
    await end();
  };
  return { connectionString: withDatabase(url, name), drop };
}

/** Opens a session with this name, which does not keep the process from ending. */
async function openPresence(url: string, name: string): Promise<{ end(): Promise<void> }> {
  const client = await openClient(serversOf(url), { name, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.unref();
  return {
    end: async () => {
      stream.ref();
      await client.end();
    },
  };
}

/** The part of a test database that an application uses. */
function connect(
  connectionString: string,
  end: () => Promise<void>,
): Pick<TestDatabase, 'query' | 'transaction' | 'close'> {
  const [server] = serversOf(connectionString);
  const pool = makePool(server, { name: 'test', max: 10, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  pool.on('error', () => undefined);
  return {
    query: (text, values) => run(pool, text, values),
    transaction: async (work) => {
      const client = await pool.connect();
      let fault: unknown;
      try {
        await client.query('begin');
        const value = await work({ query: (text, values) => run(client, text, values) });
        await client.query('commit');
        return value;
      } catch (error) {
        fault = error;
        throw error;
      } finally {
        if (fault !== undefined) await client.query('rollback').catch(() => undefined);
        client.release();
      }
    },
    close: async () => {
      await pool.end();
      await end();
    },
  };
}

/** Returns the rows of a text; of several statements, those of the last. */
async function run(client: EnqueueClient, text: string, values: readonly unknown[] = []): Promise<{ rows: never[] }> {
  const results: unknown = await client.query(text, [...values]);
  return (Array.isArray(results) ? results.at(-1) : results) as { rows: never[] };
}

type Governed = Omit<TestDatabase, 'connectionString' | 'query' | 'transaction' | 'close'>;

/** The part of a test database that runs jobs and governs the time. */
function governed(first: Drained, begin: Date): Governed {
  const { db, given } = first;
  let { handlers } = first;
  return {
    deploy: async (others) => {
      await deploy(db, others);
      handlers = others;
    },
    drain: (options) => drain({ db, handlers, given }, options),
    clear: async () => {
      await setClock(db, begin);
      await emptyTables(db);
    },
    now: () => readClock(db),
    setNow: (time) => setClock(db, timeOf(time, 'setNow(now)')),
    advance: async (duration) => {
      const now = await readClock(db);
      await setClock(db, new Date(now.getTime() + seconds(duration, 'advance(duration)') * 1000));
    },
  };
}

function timeOf(time: Date | string, field: string): Date {
  const read = new Date(time);
  if (!Number.isNaN(read.getTime())) return read;
  throw new SettingError(field, 'a Date, or a time such as 2027-01-31T02:00:00Z', time);
}

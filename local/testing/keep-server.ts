import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../core/postgres/database.ts';
import { dropDatabase, openServer, withDatabase } from '../../core/testing/template.ts';
import { countSessions, findAbandoned } from '../../core/testing/used-databases.ts';
import { type FolderLock, lockFolder } from '../folder-lock.ts';
import { startPostgres } from '../postgres/postgres.ts';
import { openChildren } from '../processes/children.ts';
import { removeServerState, writeServerState } from './server-state.ts';
import { PREFIX } from './test-database.ts';

/** Time without a session after which the server stops: the next test file, or the next run, begins within it. */
const IDLE_MS = 30_000;
const POLL_MS = 500;
/** No data has to survive a power cut. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };

export interface KeepOptions {
  readonly folder: string;
  /** The module whose package depends on that of Postgres. */
  readonly from: string;
  readonly idleMs?: number;
  /** Fires when the server must stop. */
  readonly signal: AbortSignal;
}

/** Keeps the shared server until no test has used it for a while. Returns at once if another process keeps it. */
export async function keepServer({ folder, from, idleMs = IDLE_MS, signal }: KeepOptions): Promise<void> {
  const lock: FolderLock | undefined = await lockFolder(join(folder, 'lock'));
  if (lock === undefined) return;
  await removeServerState(folder);
  const children = openChildren();
  try {
    const options = { children, from, settings: SETTINGS };
    const server = await startPostgres({ ...options, folder: join(folder, 'postgres'), database: 'postgres' });
    const db = openServer(withDatabase(server.url, 'postgres'));
    await writeServerState(folder, server.url);
    await untilIdle(db, { folder, url: server.url, idleMs, signal: AbortSignal.any([signal, ended(server.exited)]) });
    await db.close();
    await server.stop();
  } finally {
    await removeServerState(folder);
    await children.close();
    lock.release();
  }
}

function ended(exited: Promise<unknown>): AbortSignal {
  const controller = new AbortController();
  void exited.then(() => controller.abort());
  return controller.signal;
}

interface Watched {
  readonly folder: string;
  readonly url: string;
  readonly idleMs: number;
  readonly signal: AbortSignal;
}

/** Drops the databases of processes that have ended, until no session has existed for the idle time. */
async function untilIdle(db: Database, { folder, url, idleMs, signal }: Watched): Promise<void> {
  let usedAt = performance.now();
  while (!signal.aborted) {
    for (const name of await findAbandoned(db, PREFIX)) await dropDatabase(db, name);
    if ((await countSessions(db)) > 0) usedAt = performance.now();
    if (performance.now() - usedAt >= idleMs) {
      // A test that has read the address may connect at this moment: those that follow start another server.
      await removeServerState(folder);
      if ((await countSessions(db)) === 0) return;
      await writeServerState(folder, url);
    }
    await wait(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

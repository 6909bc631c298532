import { afterAll, beforeEach } from 'vitest';
import type { MaintainDeps } from '../../../core/dispatch/maintain.ts';
import { type Engine, openEngine, shiftClock } from '../../support/runtime-engine.ts';

const TABLES = [
  'jobs_live',
  'job_events',
  'job_event_totals',
  'dead_letters',
  'handlers',
  'removed_handlers',
  'upkeep',
];
const EMPTY = TABLES.map((table) => `delete from millrace.${table}`).join(';');

/** Opens an engine without jobs and handlers at the start of each test; `deps` are those of a dispatcher's new run. */
export async function openMaintainWorld(): Promise<Engine & { readonly deps: MaintainDeps }> {
  const engine = await openEngine();
  const { pool, db, log } = engine;
  afterAll(() => engine.close());
  const reported = new Set<string>();
  beforeEach(async () => {
    await pool.query(EMPTY);
    await shiftClock(pool, 0);
    log.lines.length = 0;
    reported.clear();
  });
  return { ...engine, deps: { db, log, reported } };
}

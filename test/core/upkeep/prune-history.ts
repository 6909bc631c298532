import { systemTime } from '../../../core/time.ts';
import { runUpkeep } from '../../../core/upkeep/run-upkeep.ts';
import { upkeepSteps } from '../../../core/upkeep/upkeep.ts';
import { type Engine, recordLog } from '../../support/runtime-engine.ts';

/** Runs a pass of every step now, and returns the number of deleted rows of history. A step that fails throws. */
export async function pruneHistory(
  { pool, db }: Pick<Engine, 'pool' | 'db'>,
  retentionSeconds: number,
): Promise<number> {
  await pool.query('delete from millrace.upkeep');
  const log = recordLog();
  const done = await runUpkeep({ db, log, time: systemTime }, upkeepSteps(retentionSeconds), Number.POSITIVE_INFINITY);
  const [failed] = log.events('upkeep_failed');
  if (failed) throw new Error(JSON.stringify(failed));
  const rows = [...done].filter(([name]) => name.startsWith('prune_') && name !== 'prune_finished');
  return rows.reduce((sum, [, count]) => sum + count, 0);
}

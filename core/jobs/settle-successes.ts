import type { Database } from '../postgres/database.ts';
import type { Settled, Settlement } from './settle.ts';

// What nearly every batch is: all succeeded. Half of the other statement's cost; a function, so that its plan is kept.
const SETTLE_SUCCESSES = `
  select id as "jobId", 'succeeded' as status
    from millrace.settle_successes($1::bigint[], $2::bigint[], $3::text[], $4) as id`;

/** Ends attempts of one Lambda request that have all succeeded; answers those that were ours to end. */
export async function settleSuccesses(
  db: Database,
  settlements: readonly Settlement[],
  requestId: string,
): Promise<Settled[]> {
  const { rows } = await db.query<Settled>(SETTLE_SUCCESSES, [
    settlements.map(({ jobId }) => jobId),
    settlements.map(({ claimNo }) => claimNo),
    settlements.map(({ ending }) => (ending.kind === 'succeeded' ? ending.result : null)),
    requestId,
  ]);
  return rows;
}

import type { Database } from '../../postgres/database.ts';
import { storable } from '../../text.ts';

/** Longest stored text of a report, in characters. */
const MOST_TEXT = 500;

/** A report of a handler, ready to store. */
export interface ProgressReport {
  /** From 0 to 1; null when the handler passed no number. */
  readonly fraction: number | null;
  readonly text: string | null;
}

/** A sum of parts of 1, such as ten times 0.1, differs from 1 by less. */
const ROUNDING = 1e-9;

/** The newest report of one attempt, until it is stored. JavaScript can pass values of any type. */
export class LatestProgress {
  private latest: ProgressReport | undefined;
  private hasFaulted = false;

  /**
   * Keeps a report in its nearest valid form. Returns what is wrong with it; undefined if nothing is, or if an earlier
   * report of this attempt was invalid, too.
   */
  report(fraction: unknown, text?: unknown): string | undefined {
    const known = typeof fraction === 'number' && Number.isFinite(fraction);
    const report = {
      fraction: known ? Math.min(1, Math.max(0, fraction)) : null,
      text: typeof text === 'string' ? storable(text, MOST_TEXT) : null,
    };
    this.latest = report;
    if (this.hasFaulted) return undefined;
    const faults = [...fractionFault(fraction, report.fraction), ...textFault(text)].join('; ');
    this.hasFaulted = faults !== '';
    return this.hasFaulted ? faults : undefined;
  }

  /** Returns the newest report once; undefined when none came since the last call. */
  take(): ProgressReport | undefined {
    const report = this.latest;
    this.latest = undefined;
    return report;
  }
}

function fractionFault(fraction: unknown, stored: number | null): string[] {
  const isNear = typeof fraction === 'number' && stored !== null && Math.abs(fraction - stored) <= ROUNDING;
  if (isNear) return [];
  const words = stored === null ? 'without a percentage' : `as ${stored}`;
  // Only a number is shown: another value may be a part of the payload, which no log contains.
  const got = typeof fraction === 'number' || fraction === null ? String(fraction) : typeof fraction;
  return [`fraction: expected a number from 0 to 1, got ${got} (stored ${words})`];
}

function textFault(text: unknown): string[] {
  if (typeof text === 'string' || text === undefined || text === null) return [];
  return [`text: expected a string, got ${typeof text} (stored without a text)`];
}

/** A report and the claim under which its attempt runs. */
export interface ClaimedReport extends ProgressReport {
  readonly jobId: string;
  readonly claimNo: string;
}

// Skips locked rows: the next report follows within a second, and settle must not wait for this statement.
const STORE_PROGRESS = `
  with free as materialized (
    select k.id from millrace.jobs_live k
      where k.id = any($1::bigint[]) and k.status = 'running' and k.request_id = $5
      order by k.id for update skip locked
  )
  update millrace.jobs_live j
    set updated_at = millrace.clock(), progress = jsonb_build_object('fraction', r.fraction, 'text', r.text,
          'at', to_char(millrace.clock() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    from unnest($1::bigint[], $2::bigint[], $3::float8[], $4::text[]) as r(job_id, claim_no, fraction, text)
    where j.id = r.job_id and j.claim_no = r.claim_no and j.id = any(array(select id from free))`;

/** Stores the reports of attempts that run in this Lambda request; the others have ended, and are ignored. */
export async function storeProgress(
  db: Database,
  requestId: string,
  reported: readonly ClaimedReport[],
): Promise<void> {
  await db.keyed.query(STORE_PROGRESS, [
    reported.map(({ jobId }) => jobId),
    reported.map(({ claimNo }) => claimNo),
    reported.map(({ fraction }) => fraction),
    reported.map(({ text }) => text),
    requestId,
  ]);
}

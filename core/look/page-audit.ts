import type { Queryable } from '../postgres/database.ts';

/** An action of an operator. */
export interface AuditLine {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly jobId: string | null;
  readonly details: unknown;
}

export interface AuditFilter {
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  readonly jobId?: string | undefined;
}

export interface AuditPage {
  readonly lines: readonly AuditLine[];
  /** Value of `before` for the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** Lines that one page scans. A page may end there with few lines or none, and with a next page. */
const MOST_ROWS = 30_000;

const PAGE_AUDIT = `
  select id, at, actor, action, job_id as "jobId", details
    from (select * from millrace.audit_log
            where id < coalesce($1::bigint, 9223372036854775807) and ($5::bigint is null or job_id = $5)
            order by id desc limit $6) l
    where ($3::text is null or action = $3)
      and ($4::text is null or actor = $4 or $4 ~ '^key:\\d+$' and starts_with(actor, $4 || ' '))
    order by id desc offset $7 limit $2`;

const FIND_END = `
  select id from millrace.audit_log
    where id < coalesce($1::bigint, 9223372036854775807) and ($2::bigint is null or job_id = $2)
    order by id desc offset $3 - 1 limit 1`;

/** Returns a page of the audit log, the newest first. */
export async function pageAudit(
  db: Queryable,
  { action, actor, jobId }: AuditFilter,
  { before, skip = 0, limit }: { before?: string | undefined; skip?: number; limit: number },
): Promise<AuditPage> {
  const filter = [action ?? null, actor ?? null, jobId ?? null];
  const values = [before ?? null, limit + 1, ...filter, MOST_ROWS, skip];
  const { rows } = await db.query<AuditLine>(PAGE_AUDIT, values);
  const lines = rows.slice(0, limit);
  if (rows.length > limit) return { lines, next: lines.at(-1)?.id };
  const { rows: end } = await db.query<{ id: string }>(FIND_END, [before ?? null, jobId ?? null, MOST_ROWS]);
  return { lines, next: end[0]?.id };
}

import type { Queryable } from '../postgres/database.ts';
import { type PageWish, readWindows } from './windows.ts';

/** An action of an operator. */
export interface AuditLine {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly jobId: string | null;
  /** `{ too_large: true }` for more than 16 KiB, so that no event can make the list unreadable. */
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

const PAGE_AUDIT = `
  select id, at, actor, action, job_id as "jobId",
         case when octet_length(details::text) <= 16384 then details else '{"too_large": true}' end as details
    from (select * from millrace.audit_log
            where id < coalesce($1::bigint, 9223372036854775807) and ($5::bigint is null or job_id = $5)
            order by id desc limit $6) l
    where ($3::text is null or action = $3)
      and ($4::text is null or actor = $4 or $4 ~ '^key:\\d+$' and starts_with(actor, $4 || ' '))
    order by id desc limit $2`;

const FIND_END = `
  select id from millrace.audit_log
    where id < coalesce($1::bigint, 9223372036854775807) and ($2::bigint is null or job_id = $2)
    order by id desc offset $3 - 1 limit 1`;

/** Returns a page of the audit log, the newest first. */
export async function pageAudit(
  db: Queryable,
  { action, actor, jobId }: AuditFilter,
  wish: PageWish,
): Promise<AuditPage> {
  const { rows: lines, next } = await readWindows(wish, async ({ before, rows, most }) => {
    const values = [before ?? null, most, action ?? null, actor ?? null, jobId ?? null, rows];
    const { rows: matches } = await db.query<AuditLine>(PAGE_AUDIT, values);
    const end = async () => {
      return (await db.query<{ id: string }>(FIND_END, [before ?? null, jobId ?? null, rows])).rows[0]?.id;
    };
    return { matches, end };
  });
  return { lines, next };
}

import type { Database } from '../postgres/database.ts';

/** A claim to release. */
export interface Release {
  readonly id: string;
  readonly claimNo: string;
  /** Seconds for which the job is not claimed again; 0 allows a claim at once. */
  readonly holdSeconds: number;
  /** Set when another send cannot succeed: the job becomes a dead letter with this error. */
  readonly fatal?: string;
}

/** Costs no attempt. A row that was locked, started or claimed again in the meantime is not changed. */
const RELEASE_CLAIMS = `
  with input as (
    select * from unnest($1::bigint[], $2::bigint[], $3::float8[], $4::text[]) as i(id, claim_no, hold, fatal)
  ), locked as materialized (
    select j.id, i.hold, i.fatal
      from millrace.jobs_live j join input i on i.id = j.id and i.claim_no = j.claim_no
      where j.status = 'dispatched'
      order by j.id
      for update of j skip locked
  ), released as (
    update millrace.jobs_live j
      set status = 'pending', lease_expires_at = null, updated_at = millrace.clock(),
          hold_until = case when l.hold > 0 then millrace.clock() + make_interval(secs => l.hold) end
      from locked l where j.id = l.id and l.fatal is null
      returning j.id
  ), dead as (
    select millrace.die(array_agg(l.id), array_agg('SendRefused'::text), array_agg(l.fatal)) as id
      from locked l where l.fatal is not null having count(*) > 0
  )
  select id from released union all select id from dead`;

/** Releases claims, and returns the ids of the jobs that it released. */
export async function release(db: Database, releases: readonly Release[]): Promise<string[]> {
  if (releases.length === 0) return [];
  const { rows } = await db.keyed.query<{ id: string }>(RELEASE_CLAIMS, [
    releases.map(({ id }) => id),
    releases.map(({ claimNo }) => claimNo),
    releases.map(({ holdSeconds }) => holdSeconds),
    releases.map(({ fatal }) => fatal ?? null),
  ]);
  return rows.map(({ id }) => id);
}

// Handles a dispatcher that died between claim and confirm. Messages that it sent are stale after the release, because
// the next claim has a higher number. A dispatch with a job whose row is locked stays open for the next round.
const RELEASE_UNCONFIRMED = `
  with stale as materialized (
    select claim_no from millrace.dispatches
      where sent_at is null and released_at is null
        and claimed_at < millrace.clock() - make_interval(secs => $1)
      order by claim_no for update skip locked
  ), unstarted as materialized (
    select j.id, j.claim_no from millrace.jobs_live j
      where (select count(*) from stale) > 0 and j.in_flight and j.status = 'dispatched'
        and j.claim_no = any(array(select claim_no from stale))
      order by j.job_type, j.routing_key, j.claim_no
  ), locked as materialized (
    select j.id from millrace.jobs_live j
      where j.id = any(array(select id from unstarted)) and j.status = 'dispatched'
        and j.claim_no = any(array(select claim_no from stale))
      order by j.id for update of j skip locked
  ), released as (
    update millrace.jobs_live j set status = 'pending', lease_expires_at = null, updated_at = millrace.clock()
      from locked l where j.id = l.id
      returning j.id
  ), closed as (
    update millrace.dispatches d set released_at = millrace.clock() from stale s
      where d.claim_no = s.claim_no
        and s.claim_no not in (select u.claim_no from unstarted u where u.id not in (select id from locked))
  )
  select id from released`;

/** Releases unstarted jobs of unconfirmed dispatches older than `afterSeconds`, and returns how many. */
export async function releaseUnconfirmed(db: Database, afterSeconds: number): Promise<number> {
  const { rowCount } = await db.keyed.query(RELEASE_UNCONFIRMED, [afterSeconds]);
  return rowCount;
}

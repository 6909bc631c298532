import type pg from 'pg';

/** Inserts a `mail` job in an unfinished status; returns its id. */
export async function insertInState(pool: pg.Pool, status: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into millrace.jobs (job_type) values ('mail') returning id`,
  );
  const id = (rows[0] as { id: string }).id;
  const flying = `claim_no = 1, lease_expires_at = now() + interval '1 hour', started_at = now(), attempts = 1`;
  const changes: Record<string, string> = {
    pending: '',
    dispatched: flying,
    running: flying,
    failed: `next_retry_at = now() + interval '1 hour', attempts = 1, last_error = 'Error: no'`,
    dead_letter: `claim_no = 1, attempts = 5, last_error = 'Error: no'`,
  };
  const change = [`status = '${status}'`, changes[status]].filter(Boolean).join(', ');
  await pool.query(`update millrace.jobs_live set ${change} where id = $1`, [id]);
  if (status === 'dead_letter') {
    await pool.query(
      `insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error)
         values ($1, 1, 'mail', '', 'Error: no')`,
      [id],
    );
    await pool.query(
      `insert into millrace.job_attempts (job_id, claim_no, attempt, outcome, error_name, error_message, delay_seconds)
         values ($1, 1, 1, 'failed', 'Error', 'no', 60)`,
      [id],
    );
  }
  return id;
}

import type pg from 'pg';
import type { Route } from '../../api/route.ts';
import { insertInState } from './job-states.ts';

/** Values that `fillWorld` stores, by the scope required to see them. */
export const SECRETS = {
  'jobs:read': ['error-words', 'stack-words', 'unique-words', 'group-words', 'hold-words'],
  'payload:read': ['payload-words', 'result-words', 'raw-words'],
} as const;

export interface World {
  readonly deadJob: string;
  readonly doneJob: string;
  readonly deadLetter: string;
  readonly stray: string;
  readonly redrive: string;
  readonly operation: string;
  readonly paused: string;
  readonly key: string;
}

/** Fills every field that a response can have. */
export async function fillWorld(pool: pg.Pool): Promise<World> {
  const deadJob = await insertInState(pool, 'dead_letter');
  await pool.query(
    `update millrace.jobs_live set payload = '{"to": "payload-words"}', last_error = 'Error: error-words',
       unique_key = 'unique-words ' || id, group_key = 'group-words' where id = $1`,
    [deadJob],
  );
  await pool.query(
    `update millrace.job_attempts set error_message = 'error-words', error_stacktrace = 'stack-words',
       request_id = 'request' where job_id = $1`,
    [deadJob],
  );
  const one = async (sql: string, values: unknown[] = []) => (await pool.query(sql, values)).rows[0].id as string;
  const deadLetter = await one(
    `update millrace.dead_letters set last_error = 'Error: error-words', error_stacktrace = 'stack-words',
       fingerprint = 'abcd', message_id = gen_random_uuid()::text, queue_name = 'dlq', message_sent_at = now(),
       first_seen_at = now(), last_seen_at = now() where job_id = $1 returning id`,
    [deadJob],
  );
  const stray = await one(
    `insert into millrace.dead_letters (queue_name, message_id, raw_body)
       values ('dlq', gen_random_uuid()::text, 'raw-words') returning id`,
  );
  const doneJob = await one(
    `insert into millrace.jobs_finished (job_type, slot, status, max_attempts, finished_at, result, payload, last_error)
       values ('mail', 3, 'succeeded', 5, now(), '"result-words"', '"payload-words"', 'Error: error-words')
       returning id`,
  );
  const redrive = await one(
    `insert into millrace.operations (kind, filter, requested_by)
       values ('redrive', '{"error": "error-words"}', 'ada') returning id`,
  );
  const operate = (status: string) =>
    one(
      `insert into millrace.operations (kind, status, filter, reason, change, left_counts)
         values ('reschedule', $1, '{"error": "error-words", "payload": [{"path": ["to"], "value": "payload-words"}]}',
           'group-words', '{"run_at": "now", "priority": 1}', '{"locked": 1}') returning id`,
      [status],
    );
  const [operation, paused] = [await operate('running'), await operate('paused')];
  const key = await one(
    `insert into millrace.api_keys (name, secret_sha256, scopes)
       values ('another', md5(random()::text), '{jobs:read}') returning id`,
  );
  await pool.query(
    `update millrace.handlers set held_until = now() + interval '1 hour', hold_reason = 'hold-words'
       where job_type = 'mail'`,
  );
  await pool.query(`select millrace.create_schedule('nightly', 'any', '{"to": "payload-words"}', cron => '0 3 * * *')`);
  return { deadJob, doneJob, deadLetter, stray, redrive, operation, paused, key };
}

/** A request that succeeds, for each operation with a scope. */
const REQUESTS: Readonly<Record<string, (world: World) => { path: string; body?: unknown }>> = {
  enqueueJob: ({ deadJob }) => ({
    path: '/jobs',
    body: { job_type: 'mail', payload: { to: 'ada' }, unique_key: `unique-words ${deadJob}` },
  }),
  enqueueJobs: () => ({
    path: '/jobs/bulk',
    body: { atomic: false, jobs: [{ job_type: 'any' }, { job_type: 'none' }] },
  }),
  getJob: ({ deadJob }) => ({ path: `/jobs/${deadJob}` }),
  cancelJob: ({ deadJob }) => ({ path: `/jobs/${deadJob}/cancel` }),
  getStats: () => ({ path: '/admin/jobs/stats' }),
  getSeries: () => ({ path: '/admin/jobs/series' }),
  listJobs: () => ({ path: '/admin/jobs' }),
  showJob: ({ doneJob }) => ({ path: `/admin/jobs/${doneJob}` }),
  retryJob: ({ deadJob }) => ({ path: `/admin/jobs/${deadJob}/retry` }),
  processJobs: () => ({ path: '/admin/jobs/process' }),
  deleteJob: ({ deadJob }) => ({ path: `/admin/jobs/${deadJob}` }),
  actOnJobs: ({ deadJob }) => ({ path: '/admin/jobs/actions', body: { action: 'retry', ids: [deadJob] } }),
  listDeadLetters: () => ({ path: '/admin/dlq' }),
  groupDeadLetters: () => ({ path: '/admin/dlq/groups' }),
  showDeadLetterGroup: () => ({ path: '/admin/dlq/groups/abcd' }),
  showDeadLetter: ({ deadLetter }) => ({ path: `/admin/dlq/${deadLetter}` }),
  discardDeadLetters: ({ deadJob }) => ({ path: '/admin/dlq/discard', body: { id: [deadJob] } }),
  discardStray: ({ stray }) => ({ path: `/admin/dlq/${stray}` }),
  startRedrive: ({ deadJob }) => ({ path: '/admin/redrives', body: { id: [deadJob] } }),
  listRedrives: () => ({ path: '/admin/redrives' }),
  getRedrive: ({ redrive, deadJob }) => ({ path: `/admin/redrives/${redrive}?job_id=${deadJob}` }),
  cancelRedrive: ({ redrive }) => ({ path: `/admin/redrives/${redrive}/cancel` }),
  startOperation: () => ({ path: '/admin/operations', body: { action: 'cancel', job_type: ['mail'] } }),
  listOperations: () => ({ path: '/admin/operations' }),
  getOperation: ({ operation }) => ({ path: `/admin/operations/${operation}` }),
  pauseOperation: ({ operation }) => ({ path: `/admin/operations/${operation}/pause` }),
  resumeOperation: ({ paused }) => ({ path: `/admin/operations/${paused}/resume` }),
  cancelOperation: ({ operation }) => ({ path: `/admin/operations/${operation}/cancel` }),
  listHandlers: () => ({ path: '/admin/handlers' }),
  pauseHandler: () => ({ path: '/admin/handlers/mail/pause' }),
  resumeHandler: () => ({ path: '/admin/handlers/mail/resume' }),
  createSchedule: ({ deadJob }) => ({
    path: '/admin/schedules',
    body: { schedule: `new-${deadJob}`, job_type: 'any', cron: '0 3 * * *' },
  }),
  listSchedules: () => ({ path: '/admin/schedules' }),
  getSchedule: () => ({ path: '/admin/schedules/nightly' }),
  runSchedule: () => ({ path: '/admin/schedules/nightly/run' }),
  pauseSchedule: () => ({ path: '/admin/schedules/nightly/pause' }),
  resumeSchedule: () => ({ path: '/admin/schedules/nightly/resume' }),
  deleteSchedule: () => ({ path: '/admin/schedules/nightly' }),
  listAudit: () => ({ path: '/admin/audit' }),
  createApiKey: () => ({ path: '/admin/api-keys', body: { name: 'new', scopes: ['keys:admin'] } }),
  listApiKeys: () => ({ path: '/admin/api-keys' }),
  revokeApiKey: ({ key }) => ({ path: `/admin/api-keys/${key}` }),
  getMetrics: () => ({ path: '/metrics' }),
};

export function requestOf(route: Route, world: World) {
  return { method: route.method.toUpperCase(), ...(REQUESTS[route.operation]?.(world) ?? { path: '/none' }) };
}

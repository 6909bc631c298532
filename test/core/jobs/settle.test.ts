import { expect, it } from 'vitest';
import { describeFailure } from '../../../core/failure.ts';
import { settle } from '../../../core/jobs/settle.ts';
import type { Outcome, Settled } from '../../../core/outcome.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

const error = describeFailure(new Error('it broke'));
const OUTCOMES: Record<string, Outcome> = {
  succeeded: { kind: 'succeeded', result: '{"ok": true}' },
  failed: { kind: 'failed', error, delaySeconds: 90 },
  dead_letter: { kind: 'dead_letter', error },
  skipped: { kind: 'skipped', error },
  cancelled: { kind: 'cancelled', error },
  snoozed: { kind: 'snoozed', error, delaySeconds: 600 },
};

/** Makes jobs run under one request, with SQL only. */
async function running(count: number, requestId = 'r'): Promise<string[]> {
  const rows = await engine.sql<{ id: string }>(
    `insert into millrace.jobs_live (job_type, status, attempts, claim_no, lease_expires_at, started_at, request_id,
        message_id)
      select 'work', 'running', 1, 42, millrace.clock() + interval '1 minute', millrace.clock(), $2, 'm-' || n
        from generate_series(1, $1) n returning id::text`,
    [count, requestId],
  );
  return rows.map(({ id }) => id);
}

function end(ids: string[], outcome: Outcome, { claimNo = '42', requestId = 'r' as string | null } = {}) {
  return settle(
    engine.db,
    ids.map((jobId) => ({ jobId, claimNo, outcome })),
    { requestId },
  );
}

const statuses = (settled: Settled[]) => settled.map(({ status }) => status);

const EXPECTED = {
  succeeded: { status: 'succeeded', attempts: 1, last_error: null, result: { ok: true }, due: null, log: [] },
  failed: { status: 'failed', attempts: 1, last_error: 'it broke', result: null, due: 90, log: ['failed'] },
  dead_letter: {
    status: 'dead_letter',
    attempts: 1,
    last_error: 'it broke',
    result: null,
    due: null,
    log: ['dead_letter'],
  },
  skipped: { status: 'skipped', attempts: 1, last_error: 'it broke', result: null, due: null, log: ['skipped'] },
  cancelled: { status: 'cancelled', attempts: 1, last_error: 'it broke', result: null, due: null, log: ['cancelled'] },
  snoozed: { status: 'pending', attempts: 0, last_error: null, result: null, due: 600, log: ['snoozed'] },
} as const;

it.each(Object.entries(EXPECTED))('ends an attempt as %s', async (kind, { due, log, ...want }) => {
  const [id] = await running(1);

  const settled = await end([id!], OUTCOMES[kind]!);

  expect(statuses(settled)).toEqual([want.status]);
  const state = await engine.state(id!);
  expect(state).toMatchObject({ ...want, claim_no: '42', message_id: 'm-1', suspect: false });
  if (due === null) expect(state.due_in).toBeNull();
  else expect(state.due_in).toBeCloseTo(due, 0);
  const history = await engine.sql(
    'select outcome, error_name, error_stacktrace is not null as stack from millrace.job_attempts',
  );
  expect(history).toEqual(log.map((outcome) => ({ outcome, error_name: 'Error', stack: true })));
  const dead = await engine.sql('select job_id::text, claim_no::text, last_error, status from millrace.dead_letters');
  expect(dead).toEqual(
    kind === 'dead_letter' ? [{ job_id: id, claim_no: '42', last_error: 'it broke', status: 'open' }] : [],
  );
});

it('settles every outcome in one statement and returns results in the order of the input', async () => {
  const ids = (await running(6)).reverse();
  const outcomes = Object.values(OUTCOMES);

  const settled = await settle(
    engine.db,
    ids.map((jobId, index) => ({ jobId, claimNo: '42', outcome: outcomes[index]! })),
    { requestId: 'r' },
  );

  expect(settled.map(({ jobId }) => jobId)).toEqual(ids);
  expect(statuses(settled)).toEqual(['succeeded', 'failed', 'dead_letter', 'skipped', 'cancelled', 'pending']);
});

it('applies a max_attempts that was lowered during the attempt', async () => {
  const [id] = await running(1);
  await engine.sql('update millrace.jobs_live set attempts = 3, max_attempts = 2');

  const settled = await end([id!], OUTCOMES.failed!);

  expect(statuses(settled)).toEqual(['dead_letter']);
});

it.each([
  ['succeeded', 'succeeded', []],
  ['skipped', 'skipped', ['skipped']],
  ['failed', 'cancelled', ['cancelled', 'failed']],
  ['dead_letter', 'cancelled', ['cancelled', 'failed']],
  ['snoozed', 'cancelled', ['cancelled']],
  ['cancelled', 'cancelled', ['cancelled']],
])('settles %s as %s when the job has a cancel request', async (kind, status, counted) => {
  const [id] = await running(1);
  const [asked] = await engine.sql('select millrace.cancel($1) as answer', [id]);

  const settled = await end([id!], OUTCOMES[kind]!);

  expect(asked).toEqual({ answer: 'requested' });
  expect(statuses(settled)).toEqual([status]);
  expect(await engine.sql('select from millrace.cancel_requests')).toEqual([]);
  const events = await engine.sql(
    "select event, status from millrace.job_events where event not in ('enqueued', 'succeeded') order by event",
  );
  expect(events).toEqual(counted.map((event) => ({ event, status })));
});

it.each([
  ['another claim', { claimNo: '41' }],
  ['another request', { requestId: 'other' }],
  ['a rescue while the lease lasts', { requestId: null }],
])('settle changes nothing under %s', async (_what, options) => {
  const ids = await running(1);

  const settled = await end(ids, OUTCOMES.failed!, options);

  expect(statuses(settled)).toEqual([null]);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'running' });
  expect(await engine.sql('select from millrace.job_attempts')).toEqual([]);
});

it('a second settle changes nothing', async () => {
  const ids = await running(1);
  await end(ids, OUTCOMES.failed!);

  const again = await end(ids, OUTCOMES.succeeded!);

  expect(statuses(again)).toEqual([null]);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'failed' });
});

it('keeps one open dead letter when a job dies again', async () => {
  const [id] = await running(1);
  await engine.sql("insert into millrace.dead_letters (job_id, last_error) values ($1, 'before')", [id]);

  const settled = await end([id!], OUTCOMES.dead_letter!);

  expect(statuses(settled)).toEqual(['dead_letter']);
  expect(await engine.sql("select from millrace.dead_letters where status = 'open'")).toHaveLength(1);
});

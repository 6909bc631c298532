import { expect, it } from 'vitest';
import type { SqsRecord } from '../../../core/run/sqs-event.ts';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

const SENT_AT = 1_800_000_000_123;
const STATUSES = ['pending', 'failed', 'dispatched', 'running', 'dead_letter', 'succeeded', 'skipped', 'cancelled'];
const COLUMNS = ['recorded', 'unrecorded', 'other id', 'other time', 'old', 'newer claim', 'other epoch'] as const;
type Column = (typeof COLUMNS)[number];

/** Creates a job in a status, under claim 7, with the recorded delivery m-1 or none. */
// An insert into millrace.jobs has no status.
const placeIn = (table: string) => `
  insert into millrace.${table} (slot, job_type, status, attempts, max_attempts, claim_no, lease_expires_at, started_at,
      next_retry_at, finished_at, message_id, message_sent_at, request_id)
    select case when $1 in ('succeeded', 'skipped', 'cancelled') then 3 else 0 end, $2, $1, 1, 5, 7,
           case when $1 in ('dispatched', 'running') then millrace.clock() + interval '1 hour' end,
           case when $1 = 'running' then millrace.clock() end,
           case when $1 = 'failed' then millrace.clock() + interval '1 hour' end,
           case when $1 in ('succeeded', 'skipped', 'cancelled') then millrace.clock() end,
           case when $3 then 'm-1' end, case when $3 then to_timestamp($4 / 1000.0) end, 'another request'
    returning id::text`;

async function place(status: string, { jobType = 'work', recorded = true } = {}): Promise<string> {
  const known = recorded && status !== 'dispatched';
  const table = ['succeeded', 'skipped', 'cancelled'].includes(status) ? 'jobs_finished' : 'jobs_live';
  const [row] = await engine.sql<{ id: string }>(placeIn(table), [status, jobType, known, SENT_AT]);
  if (status === 'dead_letter') {
    await engine.sql('insert into millrace.dead_letters (job_id, claim_no) values ($1, 7)', [row!.id]);
  }
  return row!.id;
}

function message(id: string, column: Column, receiveCount = 1): SqsRecord {
  const claims: Partial<Record<Column, string>> = { old: '6', 'newer claim': '8' };
  return {
    messageId: column === 'other id' ? 'm-2' : 'm-1',
    receiptHandle: 'r-1',
    body: engine.body(id, claims[column] ?? '7', column === 'other epoch' ? 'another' : engine.epoch),
    attributes: {
      ApproximateReceiveCount: String(receiveCount),
      SentTimestamp: String(column === 'other time' ? SENT_AT + 1 : SENT_AT),
    },
  };
}

/** Returns the fate of message and job as one line. */
async function outcome(id: string, record: SqsRecord): Promise<string> {
  const { failed, shown } = await engine.run([record]);
  const fate = failed.length === 0 ? 'gone' : shown.length > 0 ? 'bounced' : 'left';
  const alarm = engine.lines.some(({ event }) => event === 'message_unexpected') ? ', alarm' : '';
  return `${fate}, ${(await engine.state(id)).status}${alarm}`;
}

/** In the order of COLUMNS. A dispatched job has no recorded delivery: any message of its claim is its own. */
const TABLE: Record<string, string[]> = {
  pending: [...Array(5).fill('gone, pending'), 'gone, pending, alarm', 'gone, pending, alarm'],
  failed: [...Array(5).fill('gone, failed'), 'gone, failed, alarm', 'gone, failed, alarm'],
  dispatched: [...Array(4).fill('gone, succeeded'), 'gone, dispatched', ...Array(2).fill('gone, dispatched, alarm')],
  running: [
    ...['left, running', 'left, running', 'gone, running, alarm', 'gone, running, alarm', 'gone, running'],
    ...['gone, running, alarm', 'gone, running, alarm'],
  ],
  dead_letter: [
    ...['bounced, dead_letter', 'bounced, dead_letter', 'gone, pending', 'gone, pending', 'gone, dead_letter'],
    ...['gone, dead_letter, alarm', 'gone, dead_letter, alarm'],
  ],
  succeeded: Array(7).fill('gone, succeeded'),
  skipped: Array(7).fill('gone, skipped'),
  cancelled: Array(7).fill('gone, cancelled'),
};

const CELLS = STATUSES.flatMap((status) => COLUMNS.map((column, n) => ({ status, column, want: TABLE[status]![n] })));

it.each(CELLS)('a $status job meets a message that is $column: $want', async ({ status, column, want }) => {
  const id = await place(status, { recorded: column !== 'unrecorded' });

  expect(await outcome(id, message(id, column))).toBe(want);
});

it('bounces the message of a dead job up to the receive count at which SQS moves it, then leaves it', async () => {
  const id = await place('dead_letter');

  const outcomes = [];
  for (let receive = 1; receive <= 6; receive++) {
    outcomes.push(await outcome(id, message(id, 'recorded', receive)));
  }

  expect(outcomes).toEqual([...Array(5).fill('bounced, dead_letter'), 'left, dead_letter, alarm']);
});

it('adopts the first message of a dead job without a delivery, and redrives the job on another one', async () => {
  const id = await place('dead_letter', { recorded: false });

  const first = await outcome(id, message(id, 'recorded'));
  const again = await outcome(id, message(id, 'recorded', 2));
  const adopted = await engine.state(id);
  const other = await outcome(id, message(id, 'other time'));

  expect([first, again, other]).toEqual(['bounced, dead_letter', 'bounced, dead_letter', 'gone, pending']);
  expect(adopted.message_id).toBe('m-1');
});

it('redrives a job once, with fresh attempts, one resolved dead letter and one audit entry', async () => {
  const id = await place('dead_letter');

  const outcomes = [await outcome(id, message(id, 'other id')), await outcome(id, message(id, 'other id'))];

  expect(outcomes).toEqual(['gone, pending', 'gone, pending']);
  expect(await engine.state(id)).toMatchObject({ attempts: 0, claim_no: '7' });
  expect(await engine.sql('select status, resolution from millrace.dead_letters')).toEqual([
    { status: 'redriven', resolution: 'sqs' },
  ]);
  const audit = await engine.sql("select from millrace.audit_log where action = 'redrive' and job_id = $1", [id]);
  expect(audit).toHaveLength(1);
});

it.each([
  { what: 'a redrive', status: 'dead_letter', jobType: 'work', column: 'other id', want: 'gone, pending' },
  { what: 'an adoption', status: 'dead_letter', jobType: 'work', column: 'unrecorded', want: 'bounced, dead_letter' },
  { what: 'a release', status: 'dispatched', jobType: 'other', column: 'recorded', want: 'gone, pending, alarm' },
] as const)('does not lose $what when the row is locked', async ({ status, jobType, column, want }) => {
  const id = await place(status, { jobType, recorded: column !== 'unrecorded' });
  const holder = await createClient(engine.database.url);
  await holder.query('begin');
  await holder.query('select from millrace.jobs_live where id = $1 for update', [id]);

  const held = await outcome(id, message(id, column));
  await holder.query('rollback');
  const free = await outcome(id, message(id, column));

  expect(held).toMatch(column === 'unrecorded' ? /^bounced/ : /^left/);
  expect(free).toBe(want);
});

it.each([
  ['dispatched', 'recorded', 'gone, pending, alarm'],
  ['dead_letter', 'recorded', 'bounced, dead_letter, alarm'],
  ['dead_letter', 'other id', 'gone, pending'],
  ['running', 'recorded', 'gone, running, alarm'],
  ['failed', 'recorded', 'gone, failed, alarm'],
  ['dispatched', 'old', 'gone, dispatched, alarm'],
  ['dispatched', 'other epoch', 'gone, dispatched, alarm'],
  ['succeeded', 'recorded', 'gone, succeeded'],
] as const)("in another handler's queue, a %s job meets a message that is %s: %s", async (status, column, want) => {
  const id = await place(status, { jobType: 'other' });

  expect(await outcome(id, message(id, column))).toBe(want);
  expect(engine.runs).toEqual([]);
});

it.each([
  ['acknowledges a message of a pruned job', 1, 'recorded', []],
  ['leaves a message with an id that was never issued', 0, 'recorded', ['m-1']],
  ['leaves a message of a missing job with another epoch', 1, 'other epoch', ['m-1']],
] as const)('%s', async (_what, issued, column, failed) => {
  const id = issued === 1 ? await place('succeeded') : '999999999';
  await engine.sql('delete from millrace.jobs_finished');

  expect(await engine.run([message(id, column)])).toMatchObject({ failed, shown: [] });
});

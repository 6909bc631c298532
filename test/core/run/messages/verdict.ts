import { expect } from 'vitest';
import { decodeMessage } from '../../../../core/aws/message.ts';
import { MAX_RECEIVE_COUNT } from '../../../../core/handler/timing.ts';
import { readEpoch } from '../../../../core/postgres/epoch.ts';
import { type Column, NO_JOB, type Scene } from './arrivals.ts';
import type { World } from './world.ts';

type Row = Record<string, unknown>;

/** The relation of a message and its job, read from both. */
interface Met {
  readonly status: unknown;
  readonly column: Column | undefined;
  readonly recorded: boolean;
  readonly tooOften: boolean;
}

/** The fate of a message and its job. */
export interface Seen {
  /** `bounced`: visible at once. `left`: hidden until its visibility timeout. */
  readonly fate: 'gone' | 'bounced' | 'left' | 'unclear';
  readonly alarms: number;
  /** The step in the log. */
  readonly steps: readonly unknown[];
  readonly runs: number;
  /** The whole row of the job, or null. */
  readonly row: Row | null;
  /** The statuses of its dead letters, and how it was redriven. */
  readonly letters: readonly string[];
  readonly redrives: readonly string[];
}

const RELEASED = { status: 'pending', lease_expires_at: null, in_flight: false, due_at: expect.any(String) };

const READ_ROW = 'select to_jsonb(j) as row from millrace.jobs j where id = $1';
const READ_LETTERS = 'select status from millrace.dead_letters where job_id = $1 order by id';
const READ_REDRIVES = `
  select details ->> 'door' as door from millrace.audit_log where action = 'redrive' and job_id = $1 order by id`;

async function look({ engine }: World, jobId: string) {
  const [found] = await engine.sql<{ row: Row }>(READ_ROW, [jobId]);
  const letters = await engine.sql<{ status: string }>(READ_LETTERS, [jobId]);
  const redrives = await engine.sql<{ door: string }>(READ_REDRIVES, [jobId]);
  return {
    row: found?.row ?? null,
    letters: letters.map(({ status }) => status),
    redrives: redrives.map(({ door }) => door),
  };
}

/** Returns the column of a message and a row; undefined without a row. */
async function columnOf({ engine }: World, { record }: Scene, row: Row | null): Promise<Column | undefined> {
  const message = decodeMessage(record.body);
  if (message === undefined) return undefined;
  if (message.epoch !== (await readEpoch(engine.db))) return 'other epoch';
  if (row === null) return undefined;
  if (Number(message.claimNo) !== Number(row.claim_no)) {
    return Number(message.claimNo) < Number(row.claim_no) ? 'older claim' : 'later claim';
  }
  return row.message_id === null || row.message_id === record.messageId ? 'same delivery' : 'another delivery';
}

/** Runs the function of the scene on the message. */
export async function judge(world: World, scene: Scene): Promise<{ met: Met; before: Seen; seen: Seen }> {
  const { engine } = world;
  const { jobId, record, handler, queueUrl, deps = {} } = scene;
  const before = { ...(await look(world, jobId)), fate: 'unclear' as const, alarms: 0, steps: [], runs: 0 };
  const met: Met = {
    status: before.row?.status ?? null,
    column: await columnOf(world, scene, before.row),
    recorded: before.row !== null && before.row.message_id !== null,
    tooOften: Number(record.attributes?.ApproximateReceiveCount) > MAX_RECEIVE_COUNT,
  };
  const depth = await world.depth(queueUrl);
  engine.lines.length = 0;
  engine.runs.length = 0;

  await world.handle(handler, [record], { deps });

  const { visible, hidden } = await world.depth(queueUrl);
  const change = `${visible - depth.visible} visible, ${hidden - depth.hidden} hidden`;
  const fates = { '0 visible, -1 hidden': 'gone', '1 visible, -1 hidden': 'bounced', '0 visible, 0 hidden': 'left' };
  const fate = (fates as Record<string, Seen['fate']>)[change] ?? 'unclear';
  const told = engine.lines.filter(({ job_id, step }) => job_id === jobId && step !== undefined);
  const alarms = told.filter(({ level, event }) => level === 'error' && event === 'message_unexpected').length;
  const steps = told.map(({ step }) => step);
  const seen = { ...(await look(world, jobId)), fate, alarms, steps, runs: engine.runs.length };
  return { met, before, seen };
}

/** Returns the fate that a cell of the table states, from the state before. */
export function outcomeOf(cell: string, before: Seen, { jobId, record }: Scene): unknown {
  const [step = '', alarm] = cell.replaceAll('*', '').split(' + ');
  const alarms = alarm === undefined ? 0 : 1;
  const judged = jobId !== NO_JOB && step !== 'start' && step !== 'continue';
  const unchanged = { ...before, alarms, steps: judged ? [step] : [] };
  const changed = (row: Row) => expect.objectContaining({ ...before.row, updated_at: expect.any(String), ...row });
  const begun = { status: 'succeeded', attempts: Number(before.row?.attempts) + 1, message_id: record.messageId };
  switch (step) {
    case 'acknowledge':
      return { ...unchanged, fate: 'gone' };
    case 'leave':
      return { ...unchanged, fate: 'left' };
    case 'bounce':
      return { ...unchanged, fate: 'bounced' };
    case 'adopt': {
      const adopted = { message_id: record.messageId, message_sent_at: expect.any(String) };
      return { ...unchanged, fate: 'bounced', row: { ...before.row, ...adopted } };
    }
    case 'start':
    case 'continue':
      return { ...unchanged, fate: 'gone', runs: 1, row: expect.objectContaining(begun) };
    case 'release':
      return { ...unchanged, fate: 'gone', row: changed(RELEASED) };
    case 'redrive': {
      const fresh = { status: 'pending', attempts: 0, losses: 0, run_at: expect.any(String) };
      const row = changed({ ...fresh, due_at: expect.any(String) });
      return { ...unchanged, fate: 'gone', row, letters: ['redriven'], redrives: ['sqs'] };
    }
    default:
      throw new Error(`the page states "${cell}", which this test does not know`);
  }
}

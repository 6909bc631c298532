import { expect, it } from 'vitest';
import { MAX_RECEIVE_COUNT } from '../../../core/handler/timing.ts';
import type { JobStatus } from '../../../core/job.ts';
import type { LiveRow, StartAnswer } from '../../../core/jobs/start-answer.ts';
import { type Delivery, decide, type Step } from '../../../core/run/decide.ts';

type Column = 'recorded' | 'unrecorded' | 'other id' | 'other time' | 'old' | 'newer claim' | 'other epoch';

const COLUMNS: Column[] = ['recorded', 'unrecorded', 'other id', 'other time', 'old', 'newer claim', 'other epoch'];
const STATUSES: JobStatus[] = [
  'pending',
  'failed',
  'dispatched',
  'running',
  'dead_letter',
  'succeeded',
  'skipped',
  'cancelled',
];
const HANDLER = { jobType: 'work', routingKey: '' };

function deliveryOf(column: Column, receiveCount: number): Delivery {
  const claims: Partial<Record<Column, string>> = { old: '6', 'newer claim': '8' };
  return {
    message: { epoch: 'any', jobId: '1', claimNo: claims[column] ?? '7' },
    messageId: column === 'other id' ? 'm-2' : 'm-1',
    receiptHandle: 'r-1',
    sentAt: column === 'other time' ? 2000 : 1000,
    receiveCount,
  };
}

function answerOf(column: Column, row: Partial<LiveRow> | null, issued = true): StartAnswer {
  const recorded = column === 'unrecorded' ? { messageId: null, sentAt: null } : { messageId: 'm-1', sentAt: 1000 };
  const whole = { ...HANDLER, status: 'running' as const, claimNo: '7', requestId: 'request-1', ...recorded, ...row };
  return {
    verdict: 'none',
    row: row === null ? null : whole,
    issued,
    native: column !== 'other epoch',
    payload: null,
    attempt: 0,
    maxAttempts: 0,
    waitSeconds: null,
    traceparent: null,
  };
}

function stepOf(column: Column, row: Partial<LiveRow> | null, { issued = true, receiveCount = 1 } = {}) {
  const { step, alarm } = decide({
    delivery: deliveryOf(column, receiveCount),
    answer: answerOf(column, row, issued),
    handler: HANDLER,
  });
  return alarm === undefined ? step : `${step} + alarm`;
}

/** In the order of COLUMNS. A dispatched row that start did not start was locked by another session. */
const TABLE: Record<JobStatus, (Step | `${Step} + alarm`)[]> = {
  pending: [...Array(5).fill('acknowledge'), 'acknowledge + alarm', 'acknowledge + alarm'],
  failed: [...Array(5).fill('acknowledge'), 'acknowledge + alarm', 'acknowledge + alarm'],
  dispatched: ['leave', 'leave', 'leave', 'leave', 'acknowledge', 'acknowledge + alarm', 'acknowledge + alarm'],
  running: [
    'leave',
    'leave',
    'acknowledge + alarm',
    'acknowledge + alarm',
    'acknowledge',
    'acknowledge + alarm',
    'acknowledge + alarm',
  ],
  dead_letter: ['bounce', 'adopt', 'redrive', 'redrive', 'acknowledge', 'acknowledge + alarm', 'acknowledge + alarm'],
  succeeded: Array(7).fill('acknowledge'),
  skipped: Array(7).fill('acknowledge'),
  cancelled: Array(7).fill('acknowledge'),
};

const CELLS = STATUSES.flatMap((status) =>
  COLUMNS.map((column, index) => ({ status, column, want: TABLE[status][index] })),
);

it.each(CELLS)('decides for a $status job and a message that is $column: $want', ({ status, column, want }) => {
  const steps = Array.from({ length: MAX_RECEIVE_COUNT }, (_, n) =>
    stepOf(column, { status }, { receiveCount: n + 1 }),
  );

  expect(new Set(steps)).toEqual(new Set([want]));
});

it.each(CELLS)('stops bouncing after too many receives: a $status job, $column', ({ status, column, want }) => {
  const often = [MAX_RECEIVE_COUNT + 1, MAX_RECEIVE_COUNT + 2, 1000];

  const steps = often.map((receiveCount) => stepOf(column, { status }, { receiveCount }));

  const late = want === 'bounce' || want === 'adopt' ? 'leave + alarm' : want;
  expect(new Set(steps)).toEqual(new Set([late]));
});

it.each(COLUMNS)(
  'acknowledges a message of a pruned job, and leaves one with an id that was never issued: %s',
  (column) => {
    const issued = stepOf(column, null, { issued: true });
    const never = stepOf(column, null, { issued: false });

    expect(issued).toBe(column === 'other epoch' ? 'leave' : 'acknowledge');
    expect(never).toBe('leave');
  },
);

it.each(STATUSES)('decides by the claim for a %s job of another handler', (status) => {
  const steps = Object.fromEntries(COLUMNS.map((column) => [column, stepOf(column, { status, jobType: 'other' })]));

  const finished = ['succeeded', 'skipped', 'cancelled'].includes(status);
  const rest = finished ? 'acknowledge' : 'acknowledge + alarm';
  const same = { dispatched: 'release + alarm', dead_letter: 'bounce + alarm' }[status as string] ?? rest;
  const other = status === 'dead_letter' ? 'redrive' : rest;
  expect(steps).toEqual({
    recorded: same,
    unrecorded: same,
    'other id': other,
    'other time': other,
    old: rest,
    'newer claim': rest,
    'other epoch': rest,
  });
});

it('stops bouncing a dead job of another handler after too many receives', () => {
  const row = { status: 'dead_letter', routingKey: 'other' } as const;

  const steps = [MAX_RECEIVE_COUNT, MAX_RECEIVE_COUNT + 1].map((receiveCount) =>
    stepOf('recorded', row, { receiveCount }),
  );

  expect(steps).toEqual(['bounce + alarm', 'leave + alarm']);
});

it.each([
  ['9223372036854775806', '9223372036854775807', 'acknowledge'],
  ['9007199254740993', '9007199254740992', 'acknowledge + alarm'],
  ['10', '9', 'acknowledge + alarm'],
  ['9', '10', 'acknowledge'],
])('compares claim numbers with all their digits: %s and %s', (mine, current, want) => {
  const delivery = { ...deliveryOf('recorded', 1), message: { epoch: 'any', jobId: '1', claimNo: mine } };

  const { step, alarm } = decide({
    delivery,
    answer: answerOf('recorded', { status: 'failed', claimNo: current }),
    handler: HANDLER,
  });

  expect(alarm === undefined ? step : `${step} + alarm`).toBe(want);
});

it('reports a claim of a job that was never claimed', () => {
  const step = stepOf('recorded', { status: 'pending', claimNo: null, messageId: null, sentAt: null });

  expect(step).toBe('acknowledge + alarm');
});

import { expect, it } from 'vitest';
import { MAX_RECEIVE_COUNT } from '../../core/handler/timing.ts';
import type { JobStatus } from '../../core/job.ts';
import { type Circumstances, type Delivery, decide } from '../../core/run/decide.ts';
import { readDocument, tableBelow } from './documents.ts';

const COLUMNS = ['same delivery', 'another delivery', 'older claim', 'later claim', 'other epoch'] as const;
type Column = (typeof COLUMNS)[number];

const HANDLER = { jobType: 'work', routingKey: '' };

/** The meaning of the label of a row. */
interface Row {
  /** Null when the job does not exist. */
  readonly statuses: readonly (JobStatus | null)[];
  readonly jobType?: string;
  readonly recorded?: boolean;
  readonly issued?: boolean;
  readonly tooOften?: boolean;
}

const other = { jobType: 'other' };
const ROWS: Readonly<Record<string, Row>> = {
  'pending, failed': { statuses: ['pending', 'failed'] },
  'dispatched, its row locked by another transaction': { statuses: ['dispatched'], recorded: false },
  'running, by another request': { statuses: ['running'] },
  'succeeded, skipped, cancelled': { statuses: ['succeeded', 'skipped', 'cancelled'] },
  'dead_letter, a delivery recorded': { statuses: ['dead_letter'] },
  'dead_letter, none recorded': { statuses: ['dead_letter'], recorded: false },
  'dead_letter, received more than 5 times': { statuses: ['dead_letter'], tooOften: true },
  'gone, its id was issued': { statuses: [null] },
  'gone, its id was never issued': { statuses: [null], issued: false },
  "another handler's, dispatched": { statuses: ['dispatched'], ...other, recorded: false },
  "another handler's, dead_letter": { statuses: ['dead_letter'], ...other },
  "another handler's, dead_letter, received more than 5 times": {
    ...{ statuses: ['dead_letter'], ...other },
    tooOften: true,
  },
  "another handler's, pending, failed, running": { statuses: ['pending', 'failed', 'running'], ...other },
};
/** Rows for which `decide` is not called: these start or continue an attempt, or have no readable message. */
const ELSEWHERE = ['dispatched', 'running, by this Lambda request', 'unreadable'];

function circumstances(column: Column, row: Row, status: JobStatus | null): Circumstances {
  const { jobType = 'work', recorded = true, issued = true, tooOften = false } = row;
  const claims: Partial<Record<Column, string>> = { 'older claim': '6', 'later claim': '8' };
  const delivery: Delivery = {
    message: { epoch: 'any', jobId: '1', claimNo: claims[column] ?? '7' },
    messageId: column === 'another delivery' ? 'm-2' : 'm-1',
    receiptHandle: 'r-1',
    sentAt: 1000,
    receiveCount: tooOften ? MAX_RECEIVE_COUNT + 1 : 1,
  };
  const standing = { ...HANDLER, jobType, claimNo: '7', requestId: 'request-1' };
  const known = recorded ? { messageId: 'm-1', sentAt: 1000 } : { messageId: null, sentAt: null };
  return {
    delivery,
    answer: {
      ...{ verdict: 'none', payload: null, attempt: 0, maxAttempts: 0, waitSeconds: null, traceparent: null, issued },
      row: status === null ? null : { ...standing, ...known, status },
      native: column !== 'other epoch',
    },
    handler: HANDLER,
  };
}

const table = tableBelow(readDocument('docs/lifecycle.md'), 'What a message means');
const cells = table.flatMap(([label = '', ...wanted]) => {
  const row = ROWS[label];
  if (row === undefined) return [];
  return COLUMNS.flatMap((column, index) =>
    row.statuses.map((status) => ({ label, row, column, status, want: wanted[index] })),
  ).filter(({ want }) => want !== '–');
});

it('the table has a row for every state of a job, and no other', () => {
  const labels = table.map(([label]) => label as string);

  expect(labels.toSorted()).toEqual([...Object.keys(ROWS), ...ELSEWHERE].toSorted());
});

it('a cell is empty only for another delivery in a row without a recorded delivery', () => {
  const empty = table.flatMap(([label = '', ...wanted]) =>
    COLUMNS.filter((_, index) => ROWS[label] && wanted[index] === '–').map((column) => ({ label, column })),
  );

  expect(empty.map(({ column }) => column)).toEqual(empty.map(() => 'another delivery'));
  expect(empty.filter(({ label }) => ROWS[label]?.recorded !== false)).toEqual([]);
});

it.each(cells)('decide agrees with the page: $label ($status), $column: $want', ({ row, column, status, want }) => {
  const { step, alarm } = decide(circumstances(column, row, status));

  expect(alarm === undefined ? step : `${step} + alarm`).toBe(want);
});

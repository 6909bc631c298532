import { expect, it } from 'vitest';
import { settle } from '../../../core/jobs/settle.ts';
import { openLog } from '../../../core/log.ts';
import type { Settlement } from '../../../core/outcome.ts';
import type { Database, Queryable } from '../../../core/postgres/database.ts';

/** A database that ends the statements with jobs of a success after their time, and stores all others. */
function slowDatabase() {
  const kinds: unknown[] = [];
  const query: Queryable['query'] = async (_text, values = []) => {
    kinds.push((values[2] as string[])[0]);
    if (values.length > 11) throw Object.assign(new Error('canceling statement'), { code: '57014' });
    return { rows: [{ jobId: '1', status: 'failed' }] as never[], rowCount: 1 };
  };
  return { db: { query, limited: () => ({ query }) } as unknown as Database, kinds };
}

const success = (jobs: number, group = '"jobs":[]'): Settlement => ({
  jobId: '1',
  claimNo: '1',
  outcome: { kind: 'succeeded', result: null, enqueued: { groups: [group], jobs, delaySeconds: 60 } },
});

async function settleSlowly(one: Settlement) {
  const { db, kinds } = slowDatabase();
  const lines: string[] = [];
  const [settled] = await settle(db, [one], { requestId: 'r', log: openLog((line) => lines.push(line)) });
  return { settled, kinds, lines };
}

it.each([
  ['10,000 jobs', success(10_000)],
  ['1,001 jobs', success(1_001)],
  ['large payloads', success(1, `"jobs":[${' '.repeat(2_000_000)}]`)],
])('a success with %s that take too long fails at once, with the reason', async (_what, one) => {
  const { settled, kinds, lines } = await settleSlowly(one);

  expect(kinds).toEqual(['succeeded', 'failed']);
  expect(settled).toMatchObject({ status: 'failed' });
  expect(lines.join()).toContain('they took longer than 7 s: enqueue fewer jobs in one attempt');
});

it('a success with a few jobs is left for another try', async () => {
  const { settled, kinds } = await settleSlowly(success(5));

  expect(kinds).toEqual(['succeeded', 'succeeded']);
  expect(settled).toEqual({ jobId: '1', status: null });
});

import { expect, it } from 'vitest';
import { findExpiredAttempts } from '../../../core/jobs/rescue.ts';
import { settle } from '../../../core/jobs/settle.ts';
import type { Queryable } from '../../../core/postgres/database.ts';
import { rescue } from '../../../core/run/rescue-lost.ts';
import { crash } from '../../support/crash.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine({ timeout: '20s' });

async function crashed(count: number, options = {}) {
  const delivered = await engine.deliver(count, options);
  await crash(engine, delivered.records);
  return delivered;
}

it('LSE-01: a job of a killed worker is due after its lease, and its message starts no second attempt', async () => {
  const { ids, records } = await crashed(1);

  const early = await engine.rescue();
  const doubled = await engine.run(records);
  // Timeout 20 s, overrun, reserve and margin 10 s, grace 5 s.
  await engine.advance(34);
  const justBefore = await engine.rescue();
  await engine.advance(2);
  const after = await engine.rescue();

  expect([early, justBefore, after].map(({ attempts }) => attempts)).toEqual([0, 0, 1]);
  expect(doubled).toMatchObject({ failed: [records[0]!.messageId], shown: [] });
  expect(engine.runs).toEqual(ids);
  const state = await engine.state(ids[0]!);
  expect(state).toMatchObject({ status: 'failed', attempts: 1, suspect: true });
  expect(state.last_error).toMatch(
    /^its process did not report back within \d+ s: search the function's log for the request id of the attempt$/,
  );
  expect(state.due_in).toBeGreaterThanOrEqual(59);
  expect(state.due_in).toBeLessThanOrEqual(72);
});

it('LSE-01: after the rescue the old message is acknowledged, and a new one runs the job', async () => {
  const { ids, records } = await crashed(1);
  await engine.advance(36);
  await engine.rescue();

  const late = await engine.run(records);
  await engine.advance(72);
  await engine.dispatch();
  await engine.run(engine.queues.receive(QUEUE));

  expect(late.failed).toEqual([]);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded', attempts: 2 });
  expect(engine.runs).toHaveLength(2);
});

it('LSE-01: a crash of the last attempt makes a dead letter, and its own message moves to the DLQ', async () => {
  const { ids, records } = await crashed(1, { maxAttempts: 1 });
  await engine.advance(36);
  await engine.rescue();

  engine.queues.showAll();
  for (let receive = 2; receive <= 6; receive++) await engine.run(engine.queues.receive(QUEUE));

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'dead_letter', attempts: 1 });
  expect(engine.queues.deadBodies(QUEUE)).toEqual([records[0]!.body]);
  expect(await engine.sql("select from millrace.dead_letters where status = 'open'")).toHaveLength(1);
});

/** A rescue that is delayed between its read and its write, during which `meanwhile` runs. */
async function pausedRescue(meanwhile: () => Promise<unknown>): Promise<void> {
  await engine.advance(36);
  const query: Queryable['query'] = async (text, values) => {
    const answer = await engine.db.keyed.query(text, values);
    if (text.includes('leaseSeconds')) await meanwhile();
    return answer as never;
  };
  await rescue({ db: { ...engine.db, keyed: { query } }, random: () => 0 });
}

it('LSE-03: a delayed rescue does not change a job that completed in the meantime', async () => {
  const { ids, records } = await engine.deliver(1);
  let before: unknown;
  engine.work = async () => {
    await pausedRescue(async () => {
      const state = await engine.state(ids[0]!);
      const settlement = {
        jobId: ids[0]!,
        claimNo: state.claim_no!,
        outcome: { kind: 'succeeded', result: '1' },
      } as const;
      await settle(engine.db, [settlement], { requestId: state.request_id });
      before = await engine.sql('select to_jsonb(j) as job from millrace.jobs j');
    });
  };

  await engine.run(records);

  expect(await engine.sql('select to_jsonb(j) as job from millrace.jobs j')).toEqual(before);
  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded', result: 1 });
  expect(await engine.sql('select from millrace.job_attempts')).toEqual([]);
});

it('LSE-03: a delayed rescue does not change a job that was rescued, claimed and started again', async () => {
  const { ids } = await crashed(1);

  await pausedRescue(async () => {
    await engine.rescue();
    await engine.advance(100);
    await engine.dispatch();
    await crash(engine, engine.queues.receive(QUEUE));
  });

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'running', attempts: 2 });
});

it('LSE-03: a delayed rescue does not change a cancelled job', async () => {
  const { ids } = await crashed(1);
  await engine.sql('select millrace.cancel($1)', [ids[0]]);

  await pausedRescue(() => engine.rescue());

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'cancelled', attempts: 1 });
  expect(await findExpiredAttempts(engine.db, 10)).toEqual([]);
});

it.each([
  ['success', () => undefined],
  ['an error', () => Promise.reject(new Error('boom'))],
])('LSE-05: a row deleted while its job runs to %s is logged, and the other nine jobs finish', async (_what, end) => {
  const { ids, records } = await engine.deliver(10);
  engine.work = async ({ jobId }) => {
    if (jobId !== ids[4]) return undefined;
    await engine.sql('delete from millrace.jobs_live where id = $1', [jobId]);
    return end();
  };

  const ran = await engine.run(records);

  expect(ran).toMatchObject({ failed: [], shown: [] });
  const left = await engine.sql<{ id: string; status: string }>(
    'select id::text, status from millrace.jobs j order by j.id',
  );
  expect(left).toEqual(ids.filter((id) => id !== ids[4]).map((id) => ({ id, status: 'succeeded' })));
  expect(engine.lines).toContainEqual(
    expect.objectContaining({ level: 'warn', event: 'outcome_not_ours', job_id: ids[4] }),
  );
  expect(await engine.sql('select from millrace.dead_letters')).toEqual([]);
});

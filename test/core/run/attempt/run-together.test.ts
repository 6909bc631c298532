import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, type RunContext } from '../../../../core/handler/handler.ts';
import { DeadLetter, RetryAfter, Skip, Snooze } from '../../../../core/index.ts';
import { runHandler } from '../../../../core/testing/run-handler.ts';
import { hastyTime, openDatabaseEngine } from '../../../support/database-engine.ts';
import { optionsOf, runtime } from '../uncaught-runtime.ts';

const engine = await openDatabaseEngine({ maxAttempts: 3 });

type Jobs = readonly RunContext<{ n: number }>[];

/** Returns the handler `work` with this `runBatch`, and the jobs of each of its calls. */
function together(runBatch: (jobs: Jobs) => unknown, options: { timeout?: string } = {}) {
  const calls: number[][] = [];
  const definition = defineHandler({
    ...{ jobType: 'work', payload: z.object({ n: z.int() }), maxAttempts: 3, timeout: options.timeout ?? '30s' },
    runBatch: async (jobs) => {
      calls.push(jobs.map(({ payload }) => payload.n));
      return (await runBatch(jobs)) as ReadonlyMap<string, unknown>;
    },
  });
  return { definition, calls };
}

/** Delivers jobs with the payloads 0, 1, 2 … as one batch. */
async function deliver(count: number, payload = (n: number): unknown => ({ n })) {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await engine.enqueue({ payload: payload(n) }));
  await engine.dispatch();
  return { ids, records: engine.queues.receive('memory://work', count) };
}

const endOf = async (id: string) => {
  const { status, result, last_error: error, attempts } = await engine.state(id);
  return { status, result, error, attempts };
};

describe('a handler with runBatch', () => {
  it('runs the jobs of a batch with one call, and each has its own result', async () => {
    const { ids, records } = await deliver(6);
    const { definition, calls } = together((jobs) => {
      const outcomes = [
        { sent: true },
        new RetryAfter('10m', 'busy'),
        new Skip('nothing to do'),
        new DeadLetter('no such address'),
        new Error('refused'),
      ];
      return new Map(jobs.flatMap(({ jobId, payload: { n } }) => (n < 5 ? [[jobId, outcomes[n]] as const] : [])));
    });

    await engine.run(records, { deps: { definition } });

    expect(calls.map((call) => call.toSorted())).toEqual([[0, 1, 2, 3, 4, 5]]);
    expect(await Promise.all(ids.map(endOf))).toEqual([
      { status: 'succeeded', result: { sent: true }, error: null, attempts: 1 },
      { status: 'failed', result: null, error: 'busy', attempts: 1 },
      { status: 'skipped', result: null, error: 'nothing to do', attempts: 1 },
      { status: 'dead_letter', result: null, error: 'no such address', attempts: 1 },
      { status: 'failed', result: null, error: 'refused', attempts: 1 },
      { status: 'failed', result: null, error: 'runBatch returned no result for this job', attempts: 1 },
    ]);
  });

  it('accepts an object with the results by id, and inserts what each job enqueued with its own success', async () => {
    const { ids, records } = await deliver(2);
    const { definition } = together(async (jobs) => {
      for (const job of jobs) await job.enqueue(engine.definition, { from: job.payload.n });
      return Object.fromEntries(jobs.map(({ jobId, payload: { n } }) => [jobId, n === 0 ? n : new Snooze('1h')]));
    });

    await engine.run(records, { deps: { definition } });

    expect(await endOf(ids[0]!)).toMatchObject({ status: 'succeeded', result: 0 });
    expect(await endOf(ids[1]!)).toMatchObject({ status: 'pending', attempts: 0 });
    const follow = await engine.sql(`select payload from millrace.jobs_live where payload ? 'from'`);
    expect(follow).toEqual([{ payload: { from: 0 } }]);
  });

  it.each([
    ['throws an error', () => Promise.reject(new Error('down')), { status: 'failed', error: 'down' }],
    ['throws an outcome', () => Promise.reject(new Skip('closed')), { status: 'skipped', error: 'closed' }],
    ['returns an array', () => [1, 2], { status: 'failed', error: expect.stringContaining('a Map or an object') }],
    ['returns nothing', () => undefined, { status: 'failed', error: expect.stringContaining('a Map or an object') }],
  ])('gives every job the same outcome if it %s', async (_what, end, outcome) => {
    const { ids, records } = await deliver(2);
    const { definition } = together(end);

    await engine.run(records, { deps: { definition } });

    for (const id of ids) expect(await endOf(id)).toMatchObject(outcome);
  });

  it('does not get a job with an invalid payload, and is not called for such jobs alone', async () => {
    const { ids, records } = await deliver(3, (n) => (n === 1 ? { n: 'one' } : { n }));
    const { definition, calls } = together((jobs) => new Map(jobs.map(({ jobId }) => [jobId, 1])));
    await engine.run(records, { deps: { definition } });
    engine.queues.purge();
    const alone = await deliver(1, () => ({}));
    await engine.run(alone.records, { deps: { definition } });

    expect(calls.map((call) => call.toSorted())).toEqual([[0, 2]]);
    expect(await endOf(ids[0]!)).toMatchObject({ status: 'succeeded' });
    for (const id of [ids[1]!, alone.ids[0]!]) {
      expect(await endOf(id)).toMatchObject({ status: 'dead_letter', error: expect.stringContaining('payload/n') });
    }
  });

  it('has one timeout for the call: its signal fires, and the jobs time out together', async () => {
    const { ids, records } = await deliver(2);
    let aborted = 0;
    const { definition } = together(
      async (jobs) => {
        for (const { signal } of jobs) signal.addEventListener('abort', () => aborted++);
        await new Promise(() => undefined);
      },
      { timeout: '3s' },
    );

    const { exited } = await engine.run(records, { deps: { definition, time: hastyTime } });

    expect([aborted, exited]).toEqual([2, true]);
    for (const id of ids) expect(await endOf(id)).toMatchObject({ status: 'failed', error: 'timed out after 3 s' });
  });

  it('calls it for the last attempt of a job alone, so that no job dies of the error of another', async () => {
    const { ids, records } = await deliver(4);
    const { definition, calls } = together((jobs) => {
      if (jobs.some(({ payload }) => payload.n === 2)) throw new Error('the row 2 is refused');
      return new Map(jobs.map(({ jobId, payload }) => [jobId, payload.n]));
    });

    await engine.run(records, { deps: { definition } });
    for (const _attempt of [2, 3]) {
      await engine.sql('select millrace.retry(id) from millrace.jobs_live where id = any($1::bigint[])', [ids]);
      await engine.dispatch();
      await engine.run(engine.queues.receive('memory://work', 4), { deps: { definition } });
    }

    expect(calls.map((call) => call.toSorted())).toEqual([[0, 1, 2, 3], [0, 1, 2, 3], ...calls.slice(2)]);
    expect(calls.slice(2).flat().toSorted()).toEqual([0, 1, 2, 3]);
    expect(calls.slice(2)).toHaveLength(4);
    expect(await Promise.all(ids.map(endOf))).toEqual([
      { status: 'succeeded', result: 0, error: null, attempts: 3 },
      { status: 'succeeded', result: 1, error: null, attempts: 3 },
      { status: 'dead_letter', result: null, error: 'the row 2 is refused', attempts: 3 },
      { status: 'succeeded', result: 3, error: null, attempts: 3 },
    ]);
  });

  it('splits payloads that do not fit into memory together over several calls', async () => {
    const { ids, records } = await deliver(5, (n) => ({ n, text: 'x'.repeat(900_000) }));
    const { definition, calls } = together((jobs) => new Map(jobs.map(({ jobId }) => [jobId, 1])));

    await engine.run(records, { deps: { definition } });

    expect(calls.map(({ length }) => length)).toEqual([2, 2, 1]);
    for (const id of ids) expect(await endOf(id)).toMatchObject({ status: 'succeeded' });
  });

  it('charges every job for an error that no code catches, and each runs alone next time', async () => {
    const { ids, records } = await deliver(2);
    const { uncaught, raise } = runtime();
    const { definition } = together(() => {
      raise('unhandledRejection', 'left behind');
      return new Promise(() => undefined);
    });
    const options = optionsOf(uncaught);

    await engine.run(records, { ...options, deps: { ...options.deps, definition } });

    for (const id of ids) {
      expect(await engine.state(id)).toMatchObject({ status: 'failed', suspect: true, attempts: 1 });
    }
  });
});

it('the handler runs one job in a test', async () => {
  const { definition } = together((jobs) => new Map(jobs.map(({ jobId, payload }) => [jobId, payload.n + 1])));
  const { definition: forgetful } = together(() => ({}));

  expect((await runHandler(definition, { n: 1 })).result).toBe(2);
  expect((await runHandler(forgetful, { n: 1 })).error?.message).toBe('runBatch returned no result for this job');
});

it.each([
  [{ run: async () => 1, runBatch: async () => ({}) }, 'work: runBatch: expected run or runBatch, not both'],
  [{ runBatch: 7 }, 'work: runBatch: expected a function'],
  [{}, 'work: run: expected a function'],
])('a definition with %o is refused', (code, message) => {
  expect(() => defineHandler({ jobType: 'work', payload: z.unknown(), ...code } as never)).toThrow(message);
});

import { expect, it } from 'vitest';
import type { RunContext } from '../../../../core/handler/handler.ts';
import { showJob } from '../../../../core/look/show-job.ts';
import type { Queryable } from '../../../../core/postgres/database.ts';
import { systemTime, type Time } from '../../../../core/time.ts';
import { openDatabaseEngine, QUEUE, type RunOptions } from '../../../support/database-engine.ts';
import { eventually } from '../../../support/eventually.ts';
import { boom } from '../troubled.ts';
import { quickTime } from '../uncaught-runtime.ts';

const engine = await openDatabaseEngine({ timeout: '14m' });
const options: RunOptions = { deps: { time: quickTime }, remainingMs: () => 900_000 };

const progressOf = async (id: string) => (await showJob(engine.db, id))?.job.progress;

/** Starts one job that reports through `report` and then waits until it is released, and then calls `end`. */
async function startReporting(report: (context: RunContext<unknown>) => void, end: () => unknown = () => undefined) {
  const { ids, records } = await engine.deliver(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  engine.work = async (context) => {
    report(context);
    await promise;
    return end();
  };
  const running = engine.run(records, options);
  const finish = async () => {
    resolve();
    await running;
  };
  return { id: ids[0]!, finish };
}

it('shows the newest report of a running job', async () => {
  const { id, finish } = await startReporting(({ progress }) => {
    progress(0.1, 'page 2 of 20');
    progress(0.4, 'page 8 of 20');
  });

  await eventually(async () => expect(await progressOf(id)).toMatchObject({ fraction: 0.4, text: 'page 8 of 20' }));
  const { at } = (await progressOf(id))!;
  await finish();

  expect(new Date(at).toISOString()).toBe(at);
});

it.each<[string, unknown[], { fraction: number | null; text: string | null }]>([
  ['a fraction above 1', [1.2], { fraction: 1, text: null }],
  ['a fraction below 0', [-3, 'x'], { fraction: 0, text: 'x' }],
  ['0 of 0', [0 / 0, 'nothing to do'], { fraction: null, text: 'nothing to do' }],
  ['infinity', [1 / 0], { fraction: null, text: null }],
  ['a bigint', [1n, 'x'], { fraction: null, text: 'x' }],
  ['text that Postgres refuses', [0.5, 'a\0b\ud800'], { fraction: 0.5, text: 'a\u2400b\ufffd' }],
  ['a text that is an object', [0.5, { toString: boom }], { fraction: 0.5, text: null }],
])('stores %s in the nearest valid form', async (_name, given, stored) => {
  const { id, finish } = await startReporting(({ progress }) => (progress as (...all: unknown[]) => void)(...given));

  await eventually(async () => expect(await progressOf(id)).toMatchObject(stored));
  await finish();

  expect((await engine.state(id)).status).toBe('succeeded');
});

it('cuts a long text', async () => {
  const { id, finish } = await startReporting(({ progress }) => progress(0.5, 'x'.repeat(1_000_000)));

  await eventually(async () =>
    expect((await progressOf(id))?.text).toMatch(/^x+… \(cut, 1000000 characters in all\)$/),
  );
  await finish();

  expect((await engine.state(id)).status).toBe('succeeded');
});

it('keeps the last report of a job that failed until its next attempt starts', async () => {
  const first = await startReporting(({ progress }) => progress(0.7), boom);
  await eventually(async () => expect(await progressOf(first.id)).toMatchObject({ fraction: 0.7 }));
  await first.finish();
  const failed = await progressOf(first.id);

  await engine.advance(61);
  await engine.dispatch();
  engine.work = async () => {
    expect(await progressOf(first.id)).toBeNull();
  };
  await engine.run(engine.queues.receive(QUEUE, 1), options);

  expect(failed).toMatchObject({ fraction: 0.7 });
  expect((await engine.state(first.id)).status).toBe('succeeded');
});

it('drops the report of a job that succeeded', async () => {
  const { id, finish } = await startReporting(({ progress }) => progress(0.7));
  await eventually(async () => expect(await progressOf(id)).toMatchObject({ fraction: 0.7 }));

  await finish();

  expect(await progressOf(id)).toBeNull();
});

it('does not store the report of an attempt that runs no more under its claim', async () => {
  const { ids, records } = await engine.deliver(1);
  const id = ids[0]!;
  let stored = 0;
  const db = watched((text) => {
    if (text.includes('progress = jsonb_build_object')) stored++;
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  engine.work = async ({ progress }) => {
    await engine.sql(`update millrace.jobs_live set request_id = 'another' where id = $1`, [id]);
    progress(0.5);
    await promise;
  };

  const running = engine.run(records, { ...options, deps: { ...options.deps, db } });
  await eventually(() => expect(stored).toBeGreaterThan(0));
  await engine.sql('select 1');
  const progress = await progressOf(id);
  await engine.sql(`update millrace.jobs_live set request_id = 'request-1' where id = $1`, [id]);
  resolve();
  await running;

  expect(progress).toBeNull();
});

it('stores the reports of a second with one statement, however many jobs report however often', async () => {
  const { records } = await engine.deliver(3);
  const pauses: number[] = [];
  let stored = 0;
  const db = watched((text) => {
    if (text.includes('progress = jsonb_build_object')) stored++;
  });
  const sleep: Time['sleep'] = (ms, signal) => {
    if (ms <= 1_000) pauses.push(ms);
    return quickTime.sleep(ms, signal);
  };
  engine.work = async ({ progress }) => {
    while (stored < 3) {
      for (let n = 0; n < 100; n++) progress(n / 100);
      await systemTime.sleep(1);
    }
  };

  await engine.run(records, { ...options, deps: { db, time: { now: () => 0, sleep } } });

  expect(stored).toBe(3);
  expect(pauses.slice(0, 3)).toEqual([1_000, 1_000, 1_000]);
});

it('runs the job to its end when no report can be stored', async () => {
  const { ids, records } = await engine.deliver(1);
  let refused = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const db = watched((text) => {
    if (!text.includes('progress = jsonb_build_object')) return;
    refused++;
    resolve();
    throw new Error('connect ECONNREFUSED');
  });
  engine.work = async ({ progress }) => {
    progress(0.5);
    await promise;
  };

  await engine.run(records, { ...options, deps: { ...options.deps, db } });

  expect(refused).toBe(1);
  expect((await engine.state(ids[0]!)).status).toBe('succeeded');
  expect(engine.lines.filter(({ event }) => event === 'progress_failed')).toMatchObject([
    { level: 'warn', jobs: 1, error: { message: 'connect ECONNREFUSED' } },
  ]);
});

/** Returns the engine's database; `onKeyed` sees each keyed statement before it is sent. */
function watched(onKeyed: (text: string) => void) {
  const query: Queryable['query'] = async (text, values) => {
    onKeyed(text);
    return engine.db.keyed.query(text, values);
  };
  return { ...engine.db, keyed: { query } };
}

import { describe, expect, it } from 'vitest';
import { runOnce } from '../../../core/dispatch/dispatcher.ts';
import { Snooze } from '../../../core/handler/chosen-outcome.ts';
import { skipLate } from '../../../core/jobs/skip-late.ts';
import { openLog } from '../../../core/log.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';
import { stillTime } from '../../support/still-time.ts';

const engine = await openDatabaseEngine();
const log = openLog(() => undefined);
const PAST = '2020-01-01T00:00:00.000Z';

const upkeep = () => skipLate({ db: engine.db, log, time: stillTime() });

/** Enqueues one job that must start within ten minutes, and claims it. */
async function deliverOne(startBy = '10 minutes') {
  const rows = await engine.sql<{ id: string }>(
    `select id::text from millrace.enqueue('work', start_by => millrace.clock() + $1::interval)`,
    [startBy],
  );
  await engine.dispatch();
  return { id: rows[0]!.id, records: engine.queues.receive(QUEUE, 10) };
}

describe('a job that has not started by its time', () => {
  it.each([
    [
      'waits for a slot of its handler',
      `start_by => millrace.clock() + interval '1 hour', run_at => millrace.clock() + interval '1 hour'`,
    ],
    ['has no handler', `start_by => millrace.clock() + interval '1 hour', routing_key => 'none'`],
    ['was enqueued too late', `start_by => '${PAST}'`],
  ])('is skipped when it %s', async (_what, given) => {
    const rows = await engine.sql<{ id: string }>(`select id::text from millrace.enqueue('work', ${given})`);
    const other = await engine.enqueue();
    await engine.advance(3601);

    await upkeep();

    const state = await engine.state(rows[0]!.id);
    expect(state).toMatchObject({ status: 'skipped', attempts: 0 });
    expect(state.last_error).toMatch(/^not started by 20\d\d-\d\d-\d\dT.*Z$/);
    expect((await engine.state(other)).status).toBe('pending');
    expect(await engine.sql(`select count from millrace.job_events where event = 'skipped'`)).toEqual([{ count: '1' }]);
  });

  it('is skipped by its handler when its message comes too late, and the others of the batch run', async () => {
    const { id, records } = await deliverOne();
    const others = await engine.deliver(2);
    await engine.advance(601);

    const ran = await engine.run([...records, ...others.records]);

    expect(ran).toMatchObject({ failed: [], exited: false });
    expect(engine.runs.toSorted()).toEqual(others.ids.toSorted());
    expect(await engine.state(id)).toMatchObject({ status: 'skipped', attempts: 0 });
  });

  it('is skipped after its message was lost', async () => {
    const { id } = await deliverOne();
    await engine.advance(86_400);

    await engine.rescue();
    await upkeep();

    expect(await engine.state(id)).toMatchObject({ status: 'skipped', attempts: 0 });
  });

  it('is cancelled instead if that was requested first', async () => {
    const { id, records } = await deliverOne();
    await engine.sql('select millrace.cancel($1)', [id]);
    await engine.advance(601);

    await engine.run(records);

    expect(await engine.state(id)).toMatchObject({ status: 'cancelled', last_error: 'cancelled on request' });
  });

  it('frees its unique key', async () => {
    await engine.sql(`select millrace.enqueue('work', unique_key => 'k', start_by => '${PAST}')`);
    await upkeep();

    const rows = await engine.sql(`select deduplicated from millrace.enqueue('work', unique_key => 'k')`);

    expect(rows).toEqual([{ deduplicated: false }]);
  });
});

it('redrives a job that died before its first start, without its time', async () => {
  const { id } = await deliverOne();
  await engine.sql(`select millrace.die(array[$1::bigint], array['E'], array['SQS refused the message'])`, [id]);
  const [left] = await engine.sql(
    'select count(*)::integer as jobs from millrace.jobs_live where start_by is not null',
  );
  await engine.advance(3600);

  const [answer] = await engine.sql('select millrace.retry($1) as answer', [id]);
  await upkeep();
  await engine.dispatch();
  await engine.run(engine.queues.receive(QUEUE, 10));

  expect(left).toEqual({ jobs: 0 });
  expect(answer).toEqual({ answer: 'redriven' });
  expect(await engine.state(id)).toMatchObject({ status: 'succeeded' });
});

it.each([
  ['snoozed', () => new Snooze('1h')],
  ['was interrupted by another job of its batch', undefined],
])('skips a job whose only attempt %s and does not count', async (_what, outcome) => {
  const { id, records } = await deliverOne();
  if (outcome) {
    engine.work = outcome;
    await engine.run(records);
  } else {
    // Its payload has no room beside another one of the batch, and then no time.
    await engine.sql(`update millrace.jobs_live set payload = to_jsonb(repeat('x', 1000000)) where id = $1`, [id]);
    const others = await engine.deliver(2, { payload: 'x'.repeat(1_000_000) });
    let remaining = 60_000;
    engine.work = () => {
      remaining = 1000;
    };
    await engine.run([...others.records, ...records], { remainingMs: () => remaining });
  }
  const before = await engine.state(id);
  await engine.advance(3601);

  await upkeep();

  expect(before).toMatchObject({ status: 'pending', attempts: 0 });
  expect(await engine.state(id)).toMatchObject({ status: 'skipped', attempts: 0 });
});

it('skips late jobs before the dispatcher claims, so that they delay no other job', async () => {
  await engine.sql(`select millrace.enqueue_many((select jsonb_agg(jsonb_build_object('job_type', 'work',
    'start_by', millrace.clock() + interval '1 minute')) from generate_series(1, 1500)))`);
  await engine.advance(61);
  const fresh = await engine.enqueue();

  const { claimed } = await runOnce({ ...engine, log, time: stillTime(), random: () => 1 });

  expect(claimed).toBe(1);
  expect((await engine.state(fresh)).status).toBe('dispatched');
});

it('logs how many jobs of each handler it skipped, and the rest of many handlers together', async () => {
  await engine.sql(`select millrace.enqueue_many((select jsonb_agg(jsonb_build_object(
    'job_type', 'type_' || least(n, 24), 'routing_key', case when n > 23 then 'eu' else '' end,
    'start_by', '${PAST}')) from generate_series(1, 1200) n))`);
  const lines: Record<string, unknown>[] = [];
  const own = openLog((line) => lines.push(JSON.parse(line)));

  await skipLate({ db: engine.db, log: own, time: stillTime() });
  await skipLate({ db: engine.db, log: own, time: stillTime() });

  expect(lines).toHaveLength(21);
  expect(lines[0]).toMatchObject({ event: 'jobs_skipped', job_type: 'type_24', routing_key: 'eu', jobs: 1177 });
  expect(lines[1]).toMatchObject({ event: 'jobs_skipped', jobs: 1 });
  expect(lines[20]).toMatchObject({ event: 'jobs_skipped', jobs: 4 });
});

it('retries a job that started in time and failed, however late', async () => {
  const { id, records } = await deliverOne();
  engine.work = () => {
    throw new Error('down');
  };
  await engine.run(records);
  await engine.advance(3600);
  await upkeep();
  await engine.dispatch();
  engine.work = () => undefined;

  await engine.run(engine.queues.receive(QUEUE, 10));

  expect(await engine.state(id)).toMatchObject({ status: 'succeeded', attempts: 2 });
});

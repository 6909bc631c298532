import fc from 'fast-check';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { claim } from '../../../core/jobs/claim.ts';
import { type ClaimFloors, openFloors } from '../../../core/jobs/claim-floors.ts';
import { createClient } from '../../support/database.ts';
import { deploy, insertJobs, openEngine, shiftClock } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());

beforeEach(async () => {
  await pool.query('delete from millrace.jobs_live; delete from millrace.handlers');
  await shiftClock(pool, 0);
});

const finish = (ids: string[]) => pool.query('delete from millrace.jobs_live where id = any($1)', [ids]);
const insertDue = async (jobType: string, secondsAgo: number, priority = 5): Promise<string> => {
  const { rows } = await pool.query<{ id: string }>(
    `insert into millrace.jobs (job_type, priority, run_at)
       values ($1, $2, millrace.clock() - make_interval(secs => $3)) returning id`,
    [jobType, priority, secondsAgo],
  );
  return rows[0]!.id;
};

/** Floors of a dispatcher whose claims without floors are so slow that it makes only one. */
function slowFloors(): ClaimFloors {
  const time = { at: 0, now: () => (time.at += 100) };
  return openFloors(time);
}

/** Entries that scans have read from an index of the jobs since its creation. */
async function entriesRead(index: string): Promise<number> {
  const { rows } = await pool.query(
    'select pg_stat_get_tuples_returned(c.oid)::integer as read from pg_class c where relname = $1',
    [index],
  );
  return rows[0].read;
}

it.each(['jobs_live_due', 'jobs_live_in_flight'])(
  'does not scan claimed jobs again while an open transaction keeps them in %s',
  async (index) => {
    await deploy(db, { jobType: 'mail', concurrency: 1000, maxInFlight: 10_000 });
    await insertJobs(pool, 'mail', 4000);
    await pool.query(`update millrace.jobs_live set run_at = run_at - interval '1 minute'`);
    await pool.query('vacuum analyze millrace.jobs_live');
    const pin = await createClient(engine.test.url);
    await pin.query('begin isolation level repeatable read; select 1');
    const floors = slowFloors();
    const steps = async (given?: ClaimFloors) => {
      const before = await entriesRead(index);
      for (let n = 0; n < 5; n++) await finish((await claim(db, 100, { floors: given })).map(({ id }) => id));
      await pool.query('select pg_stat_force_next_flush()');
      await db.query('select pg_stat_force_next_flush()');
      return (await entriesRead(index)) - before;
    };
    for (let n = 0; n < 10; n++) await finish((await claim(db, 200, { floors })).map(({ id }) => id));

    const without = await steps();
    const withFloors = await steps(floors);
    await pin.query('rollback');

    expect(without).toBeGreaterThan(5 * 2000);
    expect(withFloors).toBeLessThan(without / 5);
  },
);

it('claims all existing jobs, regardless of handler, priority and due time', async () => {
  await deploy(db, { jobType: 'a', maxInFlight: 3 }, { jobType: 'a', routingKey: 'k' }, { jobType: 'b' });
  const job = fc.record({
    address: fc.constantFrom(['a', ''], ['a', 'k'], ['b', '']),
    priority: fc.integer({ min: 0, max: 9 }),
    age: fc.integer({ min: 0, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(job, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), async (all, limit) => {
      await pool.query('delete from millrace.jobs_live');
      const { rows } = await pool.query<{ id: string }>(
        `insert into millrace.jobs (job_type, routing_key, priority, run_at)
           select i->'address'->>0, i->'address'->>1, (i->>'priority')::int,
                  millrace.clock() - make_interval(secs => (i->>'age')::int)
             from jsonb_array_elements($1::jsonb) i returning id`,
        [JSON.stringify(all)],
      );
      const floors = slowFloors();
      const taken: string[] = [];

      for (let before = -1; before < taken.length; ) {
        before = taken.length;
        const ids = (await claim(db, limit, { floors })).map(({ id }) => id);
        taken.push(...ids);
        await finish(ids);
      }

      expect(taken.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
    }),
    { numRuns: 25 },
  );
});

it('keeps the limit of a handler whose jobs in flight have several claim numbers', async () => {
  await deploy(db, { jobType: 'mail', concurrency: 2, batch: { size: 5 }, maxInFlight: 20 });
  await insertJobs(pool, 'mail', 100);
  const floors = slowFloors();
  const first = await claim(db, 10, { floors });
  const second = await claim(db, 100, { floors });
  await finish(first.slice(1).map(({ id }) => id));

  const third = await claim(db, 100, { floors });
  const fourth = await claim(db, 100, { floors });

  expect([first.length, second.length, third.length, fourth.length]).toEqual([10, 10, 9, 0]);
});

it('claims at once jobs that were committed two seconds late, and jobs of another priority', async () => {
  await deploy(db, { jobType: 'mail' });
  const floors = slowFloors();
  await insertDue('mail', 0);
  await claim(db, 10, { floors });
  const late = await insertDue('mail', 1.5);
  const tooLate = await insertDue('mail', 60);
  const urgent = await insertDue('mail', 60, 0);

  const seen = await claim(db, 10, { floors });
  const withoutFloors = await claim(db, 10);

  expect(seen.map(({ id }) => id)).toEqual([urgent, late]);
  expect(withoutFloors.map(({ id }) => id)).toEqual([tooLate]);
});

it('clears its floors at once while claims without them are fast, else after at most five seconds', async () => {
  const time = { at: 0, now: () => time.at };
  const floors = openFloors(time);
  const job = { jobType: 'mail', routingKey: '', priority: 5, firstClaim: '7', floorAt: '2026-01-01', floorId: '1' };
  const claimTaking = (ms: number) => {
    floors.begin();
    const [claimNo] = floors.read([job]).claimNos;
    time.at += ms;
    floors.end([job]);
    return claimNo;
  };

  const quick = [0, 10, 190].map((pause) => {
    time.at += pause;
    return claimTaking(10);
  });
  const slow = [0, 190, 3000, 999, 0].map((pause) => {
    time.at += pause;
    return claimTaking(500);
  });

  expect(quick).toEqual(['0', '7', '0']);
  expect(slow).toEqual(['7', '0', '7', '7', '0']);
});

it('keeps its floors when a claim without them fails, and uses them for five sixths of the time', async () => {
  const time = { at: 0, now: () => time.at };
  const floors = openFloors(time);
  const job = { jobType: 'mail', routingKey: '', priority: 5, firstClaim: '7', floorAt: '2026-01-01', floorId: '1' };
  floors.begin();
  floors.end([job]);
  const failing = { ...db, transaction: () => Promise.reject(new Error('statement timeout')) };

  await expect(claim(failing, 5, { floors })).rejects.toThrow('statement timeout');
  const next = [0, 29_999, 1].map((pause) => {
    time.at += pause;
    floors.begin();
    const read = floors.read([job]);
    floors.end([]);
    return [read.claimNos, read.dueTimes[5]];
  });

  expect(next).toEqual([
    [['7'], '2026-01-01'],
    [['7'], '2026-01-01'],
    [['0'], '-infinity'],
  ]);
});

it.each([
  ['uses the floors of the run before it', 500, 3000, '2026-01-01'],
  ['ignores them when the last claim without floors was long ago', 500, 5000, '-infinity'],
  ['ignores them at once if claims without floors are fast', 10, 3000, '-infinity'],
  ['ignores those of a time to come', 500, -3000, '-infinity'],
])('%s', (_what, cost, ageMs, due) => {
  const job = { jobType: 'mail', routingKey: '', priority: 5, firstClaim: '7', floorAt: '2026-01-01', floorId: '1' };
  const time = { at: 1000, now: () => time.at };
  const before = openFloors(time);
  before.begin();
  time.at += cost;
  before.end([job]);
  const saved = before.save();
  time.at = 50;
  const floors = openFloors(time, { floors: saved, ageMs });
  floors.begin();

  expect(floors.read([job])).toMatchObject({ claimNos: ['0'], dueTimes: Array(10).fill('-infinity').with(5, due) });
});

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { decodeMessage } from '../../../core/aws/message.ts';
import { type DispatchDeps, dispatch } from '../../../core/dispatch/dispatch.ts';
import { readEpoch } from '../../../core/postgres/epoch.ts';
import { deploy, insertJobs, memoryQueues, openEngine, shiftClock } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;
const epoch = await readEpoch(db);
afterAll(() => engine.close());

let queues = memoryQueues();
let deps: DispatchDeps;
beforeEach(async () => {
  await pool.query(`delete from millrace.jobs_live; delete from millrace.dead_letters; delete from millrace.handlers;
    delete from millrace.job_attempts; delete from millrace.job_events; delete from millrace.dispatches`);
  await shiftClock(pool, 0);
  queues = memoryQueues();
  log.lines.length = 0;
  deps = { db, queues, log, random: () => 1 };
});

describe('a dispatch', () => {
  it('sends every job once, with ids only, and confirms the dispatch', async () => {
    await deploy(db, { jobType: 'mail' });
    const ids = await insertJobs(pool, 'mail', 25);

    const dispatched = await dispatch(deps, 1000);

    const { rows } = await pool.query('select * from millrace.dispatches');
    const sent = queues.sent.map(({ body }) => decodeMessage(body));
    expect(dispatched).toEqual({ claimed: 25, sent: 25 });
    expect(sent).toEqual(ids.map((jobId) => ({ epoch, jobId, claimNo: rows[0].claim_no })));
    expect(Object.keys(JSON.parse(queues.sent[0]!.body)).sort()).toEqual(['claim', 'epoch', 'job', 'v']);
    expect(rows).toMatchObject([{ claimed_count: 25, sent_count: 25, refused_count: 0, released_at: null }]);
    expect(rows[0].sent_at).not.toBeNull();
  });

  it('has no open transaction while it waits for SQS', async () => {
    await deploy(db, { jobType: 'mail' });
    await insertJobs(pool, 'mail', 3);
    let open: unknown;
    const send = queues.send;
    queues.send = async (...call) => {
      const { rows } = await pool.query(
        `select count(*)::int as n from pg_stat_activity
           where datname = current_database() and application_name = 'test-engine' and xact_start is not null`,
      );
      open = rows[0].n;
      return send(...call);
    };

    await dispatch(deps, 1000);

    expect(open).toBe(0);
  });

  it('sends a digest that SQS accepts for any group key', async () => {
    await deploy(db, { jobType: 'mail' });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), async (text) => {
        const key = text.replaceAll('\0', '0').toWellFormed();
        queues.sent.length = 0;
        await pool.query(`insert into millrace.jobs (job_type, group_key) values ('mail', $1), ('mail', null)`, [key]);

        await dispatch(deps, 1000);

        expect(queues.sent.map(({ groupId }) => groupId)).toEqual([
          createHash('sha256').update(key).digest('hex'),
          undefined,
        ]);
      }),
      { numRuns: 15 },
    );
  });

  it('writes nothing to the registry while SQS accepts all messages', async () => {
    await deploy(db, { jobType: 'mail' });
    await insertJobs(pool, 'mail', 3);
    const texts: string[] = [];
    const watched: typeof db = {
      ...db,
      query: (text, values) => {
        texts.push(text);
        return db.query(text, values);
      },
    };

    await dispatch({ ...deps, db: watched }, 1000);

    expect(texts.filter((text) => text.includes('millrace.handlers'))).toEqual([]);
  });

  it('sends nothing and writes nothing when nothing is due', async () => {
    await deploy(db, { jobType: 'mail' });

    expect(await dispatch(deps, 1000)).toEqual({ claimed: 0, sent: 0 });
    expect((await pool.query('select * from millrace.dispatches')).rows).toEqual([]);
  });
});

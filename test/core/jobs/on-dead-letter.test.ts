import { beforeEach, describe, expect, it } from 'vitest';
import { DeadLetter } from '../../../core/handler/chosen-outcome.ts';
import { dieUnhandled } from '../../../core/jobs/die-unhandled.ts';
import { settle } from '../../../core/jobs/settle.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });

interface Announced {
  readonly job_type: string;
  readonly routing_key: string;
  readonly status: string;
  readonly payload: Record<string, unknown>;
  readonly on_dead_letter: string;
}

const announced = () =>
  engine.sql<Announced>(`select job_type, routing_key, status, payload, on_dead_letter from millrace.jobs_live
    where payload ? 'job_id' order by id`);

const choose = (id: string, name: string | null) =>
  engine.sql('update millrace.jobs_live set on_dead_letter = $2 where id = $1', [id, name]);

beforeEach(async () => {
  await engine.sql(`update millrace.handlers set on_dead_letter = 'report_failure.mail'`);
});

/** Delivers one job that chooses this target, and lets it die. */
async function die(target: string | null): Promise<string> {
  const { ids, records } = await engine.deliver(1);
  const [id = ''] = ids;
  await choose(id, target);
  engine.work = () => {
    throw new DeadLetter('the address does not exist');
  };
  await engine.run(records);
  return id;
}

describe('a job that becomes a dead letter', () => {
  it('enqueues one job for the handler that its definition names, with its id and its error', async () => {
    const id = await die(null);

    const jobs = await announced();
    expect(jobs).toEqual([
      {
        ...{ job_type: 'report_failure', routing_key: 'mail', status: 'pending', on_dead_letter: '' },
        payload: {
          ...{ job_id: id, job_type: 'work', routing_key: '', attempts: 1, error_name: 'DeadLetter' },
          error_message: 'the address does not exist',
          died_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        },
      },
    ]);
    expect(await engine.sql(`select event, count from millrace.job_events where job_type = 'report_failure'`)).toEqual([
      { event: 'enqueued', count: '1' },
    ]);
  });

  it('prefers the handler that the job names', async () => {
    await die('alert');

    expect(await announced()).toMatchObject([{ job_type: 'alert', routing_key: '' }]);
  });

  it('enqueues none if the job names none, or neither names one', async () => {
    await die('');
    await engine.sql('update millrace.handlers set on_dead_letter = null');
    await die(null);

    expect(await announced()).toEqual([]);
  });

  it('enqueues one for each death: again after a redrive, but not for a repeated settle', async () => {
    const id = await die('alert');
    const [row] = await engine.sql<{ claim_no: string }>('select claim_no from millrace.jobs where id = $1', [id]);
    await settle(engine.db, [{ jobId: id, claimNo: row!.claim_no, outcome: { kind: 'succeeded', result: null } }], {
      requestId: 'request-1',
    });
    expect(await announced()).toHaveLength(1);

    await engine.sql('select millrace.retry($1)', [id]);
    await engine.sql('select millrace.die(array[$1::bigint], array[null], array[$2])', [id, 'no handler']);

    expect(await announced()).toMatchObject([{}, { payload: { job_id: id, error_name: null, attempts: 0 } }]);
  });

  it.each([
    [
      'its process was lost on its last attempt',
      async () => {
        const { ids } = await engine.deliver(1);
        await engine.sql(
          `update millrace.jobs_live set status = 'running', attempts = 1, started_at = millrace.clock(),
             lease_expires_at = millrace.clock() - interval '1 second', request_id = 'lost'`,
        );
        await engine.rescue();
        return ids[0];
      },
    ],
    [
      'its handler was removed for a day',
      async () => {
        const id = await engine.enqueue({ jobType: 'gone' });
        await choose(id, 'alert');
        await engine.advance(90_000);
        await dieUnhandled(engine.db, null, { afterSeconds: 86_400, addresses: 10, jobs: 10 });
        return id;
      },
    ],
  ])('enqueues one whatever killed it: %s', async (_reason, kill) => {
    const id = await kill();

    expect((await announced()).map(({ payload }) => payload.job_id)).toEqual([id]);
  });
});

it('the death of the job that reports a death enqueues no further one', async () => {
  await engine.sql(`update millrace.handlers set on_dead_letter = 'work'`);
  await die(null);
  const [report] = await engine.sql<{ id: string }>(`select id from millrace.jobs_live where payload ? 'job_id'`);
  await engine.dispatch();
  await engine.run(engine.queues.receive('memory://work', 10));

  expect(await engine.state(report!.id)).toMatchObject({ status: 'dead_letter', attempts: 1 });
  expect(await announced()).toHaveLength(1);
});

it('a job about a death that the database refuses prevents neither this death nor those of the batch', async () => {
  await engine.sql(`create function public.refuse() returns trigger language plpgsql as $$
    begin
      if new.payload ->> 'job_type' = 'work' and new.payload ->> 'job_id' = current_setting('test.refused', true) then
        raise exception 'refused by a trigger';
      end if;
      return new;
    end $$`);
  await engine.sql('create trigger refuse before insert on millrace.jobs_live for each row execute function refuse()');
  const { ids, records } = await engine.deliver(3);
  await engine.sql(`alter database ${new URL(engine.database.url).pathname.slice(1)} set test.refused = '${ids[1]}'`);
  await engine.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'engine-test'`,
  );
  engine.work = () => {
    throw new DeadLetter('no');
  };

  await engine.run(records);

  for (const id of ids) expect(await engine.state(id)).toMatchObject({ status: 'dead_letter' });
  expect((await announced()).map(({ payload }) => payload.job_id)).toEqual([ids[0], ids[2]]);
  expect(await engine.sql(`select job_id::text, details from millrace.audit_log where action like 'refuse%'`)).toEqual([
    { job_id: ids[1], details: { error: 'refused by a trigger' } },
  ]);
});

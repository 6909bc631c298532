import { expect, it } from 'vitest';
import { openLog } from '../../../core/log.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { fanOut, merge } from '../jobs/family.ts';

const engine = await openDatabaseEngine({ maxAttempts: 3 });

const SLOW_INSERTS = `
  create function public.slow() returns trigger language plpgsql as $$
  begin
    if (select count(*) from inserted) > 1000 then
      perform pg_sleep(2);
    end if;
    return null;
  end $$;
  create trigger slow after insert on millrace.jobs_live
    referencing new table as inserted for each statement execute function public.slow()`;

it('a success with many jobs may take longer than other statements of a handler', async () => {
  await engine.sql(SLOW_INSERTS);
  const db = openDatabase({
    ...{ connectionString: engine.database.url, max: 1, name: 'limited', log: openLog(() => undefined) },
    statementTimeoutMs: 500,
  });
  let remaining = 60_000;

  const { parent, children } = await fanOut(engine, 1_500, {
    deps: { db },
    remainingMs: () => (remaining -= 5_000),
  });
  await db.close();
  await engine.sql('drop trigger slow on millrace.jobs_live');

  expect(await engine.state(parent)).toMatchObject({ status: 'succeeded' });
  expect(children).toHaveLength(1_500);
});

it('fails the attempt with the reason if a trigger raises an error of its own code', async () => {
  await engine.sql(`
    create function public.forbid() returns trigger language plpgsql as $$
    begin
      raise exception 'merges are not permitted' using errcode = '42501';
    end $$;
    create trigger forbid before insert on millrace.jobs_live for each row when (new.job_type = 'merge')
      execute function public.forbid()`);
  const { ids, records } = await engine.deliver(1);
  engine.work = (context) => context.enqueue(merge, {});
  let remaining = 60_000;

  await engine.run(records, { remainingMs: () => (remaining -= 5_000) });
  await engine.sql('drop trigger forbid on millrace.jobs_live');

  expect(await engine.state(ids[0]!)).toMatchObject({
    status: 'failed',
    last_error: 'the jobs of this success could not be enqueued: merges are not permitted',
  });
});

import { expect, it } from 'vitest';
import { controlOperation } from '../../../core/operations/operation.ts';
import { openOperations } from './world.ts';

const { pool, db, log, start, insert, round, step, finish, statusesOf, audit } = await openOperations();

it('pauses, resumes and cancels, and the audit log has each', async () => {
  await insert('pending', 30);
  const id = await start('cancel');
  await step(id, 10);

  const answers = [];
  for (const verb of ['resume', 'pause', 'pause'] as const) answers.push(await controlOperation(db, id, verb));
  const paused = await step(id, 10);
  answers.push(await controlOperation(db, id, 'resume'));
  const resumed = await step(id, 10);
  for (const verb of ['cancel', 'cancel', 'resume'] as const) answers.push(await controlOperation(db, id, verb));

  expect(answers).toEqual([false, true, false, true, true, false, false]);
  expect(paused).toMatchObject({ status: 'paused', done: 10 });
  expect(resumed).toMatchObject({ status: 'running', done: 20 });
  expect(await step(id)).toMatchObject({ status: 'cancelled', done: 20 });
  expect((await audit()).slice(1)).toEqual([
    'cancel_cancelled 1',
    'cancel_paused 1',
    'cancel_resumed 1',
    'cancel_started 1',
  ]);
});

it('the dispatcher works off an operation, and logs its end', async () => {
  const ids = await insert('pending', 3);
  const id = await start('cancel', { expected: 3 });

  const changed = await round();

  expect(changed).toBe(3);
  expect(await statusesOf(ids)).toEqual(['cancelled', 'cancelled', 'cancelled']);
  expect(log.events('operation_done')).toMatchObject([{ operation_id: id, operation: 'cancel', jobs: 3, skipped: 0 }]);
});

it('a job that the database refuses to change does not keep the others from their change', async () => {
  const [refused, ...others] = await insert('pending', 4);
  await pool.query(`create function refuse() returns trigger language plpgsql
    as $$ begin if old.id = ${refused} then raise exception 'no'; end if; return old; end $$;
    create trigger refuse before delete on millrace.jobs_live for each row execute function refuse()`);

  const end = await finish('cancel');
  await pool.query('drop function refuse cascade');

  expect(end).toMatchObject({ done: 3, left: { refused: 1 } });
  expect(await statusesOf([refused!, ...others])).toEqual(['pending', 'cancelled', 'cancelled', 'cancelled']);
});

it('a limit ends an operation, and a rate delays it', async () => {
  await insert('pending', 10);

  expect(await finish('cancel', { limit: 3 })).toMatchObject({ done: 3, status: 'done' });
  const id = await start('cancel', { rate: 0.001 });
  expect(await step(id)).toMatchObject({ done: 0, status: 'running', ratePerSecond: 0.001 });
});

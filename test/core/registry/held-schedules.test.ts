import { afterAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { createClient } from '../../support/database.ts';
import { openEngine, registrationsOf } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db } = engine;
afterAll(() => engine.close());
beforeEach(() => pool.query('delete from millrace.schedules'));

const PATIENCE = { waitMs: 20, pauseMs: 1, tries: 2 };
const HANDLERS = [{ jobType: 'mail', schedules: { hourly: { every: '1h' }, nightly: { cron: '0 3 * * *' } } }] as const;
const CREATE = `select millrace.create_schedule('nightly', 'mail', cron => '0 3 * * *')`;
const REGISTER = { db, stage: 'local', patience: PATIENCE };

/** Opens a transaction that runs a statement and stays open, as in a forgotten terminal. */
async function forget(statement: string): Promise<number> {
  const client = await createClient(`${engine.test.url}?application_name=forgotten`);
  onTestFinished(async () => void (await client.query('rollback')));
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  await client.query('begin');
  await client.query(statement);
  return rows[0]!.pid;
}

it.each([
  ['created', false, CREATE],
  ['paused', true, `select millrace.pause_schedule('nightly')`],
  ['deleted', true, `delete from millrace.schedules where name = 'nightly'`],
  ['locked', true, `select from millrace.schedules where name = 'nightly' for update`],
])('a deployment names the session whose open transaction has %s a schedule', async (_what, isDeployed, statement) => {
  if (isDeployed) await registerHandlers({ db, stage: 'local' }, registrationsOf(HANDLERS));
  const pid = await forget(statement);
  const reasons: string[] = [];

  const refused = registerHandlers(
    { ...REGISTER, onWaiting: (reason) => reasons.push(reason) },
    registrationsOf(HANDLERS),
  );

  await expect(refused).rejects.toThrow(
    new RegExp(
      `^session ${pid} \\(.+ forgotten\\) keeps a lock on a declared schedule, such as one that it creates or`,
    ),
  );
  expect(reasons).toEqual(
    [1, 2].map(() => expect.stringMatching(/^session \d+ \(.+\) has a lock on a declared schedule$/)),
  );
});

it('a deployment does not name an older session with locks on the handlers for a lock on a schedule', async () => {
  await forget(`select from millrace.removed_handlers for update`);
  await forget(`insert into millrace.handler_starts values ('other', '', 0)`);
  const pid = await forget(CREATE);

  const refused = registerHandlers(REGISTER, registrationsOf(HANDLERS));

  await expect(refused).rejects.toThrow(new RegExp(`^session ${pid} `));
});

import pg from 'pg';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { PATIENCE, type Scene } from './operations-scene.ts';
import type { Terminal } from './terminal.ts';

const REMINDER = `'{"to": "ada@example.com", "subject": "Hello", "text": "A reminder"}'`;

const state = async ({ stack }: Terminal, name: string) => {
  const text = 'select millrace.state_of(s, 120) as state from millrace.schedules s where name = $1';
  return (await stack.query<{ state: string }>(text, [name]))[0]?.state;
};

const remove = ({ stack }: Terminal, ...names: string[]) =>
  stack.query('select millrace.delete_schedule(name) from unnest($1::text[]) as n(name)', [names]);

const doesNotRun: Scene = {
  async provoke(terminal) {
    const { stack } = terminal;
    await stack.query(`select millrace.create_schedule('nightly-report', 'send_reminder', ${REMINDER},
      cron => '0 3 * * *', zone => 'Mars/Olympus')`);
    await stack.query(`select millrace.create_schedule('poll-orders', 'send_reminder', ${REMINDER}, cron => '0 0 1 1 *',
      overlap => 'skip')`);
    await stack.query(`insert into millrace.schedule_ticks (schedule, tick_at, result)
      values ('poll-orders', now() - interval '1 minute', 'overlapped')`);
    await stack.query(`select millrace.pause_schedule('poll-orders')`);
    await eventually(async () => expect(await state(terminal, 'nightly-report')).toBe('failed'), PATIENCE);
    return {};
  },
  async relieve(terminal) {
    expect(await state(terminal, 'poll-orders')).toBe('active');
    await remove(terminal, 'nightly-report', 'poll-orders');
  },
};

let forgotten: pg.Client | undefined;

const runsLate: Scene = {
  async provoke(terminal) {
    const { stack } = terminal;
    forgotten = new pg.Client({ connectionString: stack.state.databaseUrl, application_name: 'forgotten' });
    forgotten.on('error', () => undefined);
    await forgotten.connect();
    await forgotten.query(`begin; select millrace.enqueue('send_reminder', ${REMINDER}, unique_key => 'hourly')`);
    await stack.query(`insert into millrace.schedules (name, job_type, payload, every_seconds, unique_key, since)
      values ('hourly-report', 'send_reminder', ${REMINDER}, 3600, 'hourly', now() - interval '2 hours')`);
    await eventually(async () => {
      const failed = "select from millrace.schedules where name = 'hourly-report' and failed_at is not null";
      expect(await stack.query(failed), stack.output()).toHaveLength(1);
    }, PATIENCE);
    return {};
  },
  async relieve(terminal) {
    await forgotten?.end();
    await eventually(async () => {
      const enqueued = "select from millrace.schedule_ticks where schedule = 'hourly-report' and job_id is not null";
      expect(await terminal.stack.query(enqueued), terminal.stack.output()).toHaveLength(1);
    }, PATIENCE);
    await remove(terminal, 'hourly-report');
  },
};

const ranTwice: Scene = {
  async provoke({ stack }) {
    await stack.query(`select millrace.create_schedule('weekly-report', 'send_reminder', ${REMINDER},
      cron => '0 0 1 1 *')`);
    const run = `select millrace.run_schedule('weekly-report')::text as id`;
    const [row] = await stack.query<{ id: string }>(run);
    return { 42: row?.id ?? '' };
  },
  relieve: async (terminal) => void (await remove(terminal, 'weekly-report')),
};

export const scheduleScenes: Readonly<Record<string, Scene>> = {
  'A schedule does not run': doesNotRun,
  'A schedule runs late': runsLate,
  'A schedule ran twice': ranTwice,
};

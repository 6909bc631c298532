import { enqueueMany } from 'millrace';
import type pg from 'pg';
import sendReminder from '../jobs/send-reminder.ts';

const MARK_DUE = `
  update reminders set enqueued_at = now() where id in (
    select id from reminders where due_at <= now() and enqueued_at is null
      order by due_at limit 1000 for update skip locked)
  returning id`;

/**
 * Marks the due reminders and enqueues a job for each, in one transaction: a reminder is marked if and only if its job
 * exists. Returns the ids of the jobs.
 */
export async function runReminders(pool: pg.Pool): Promise<string[]> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query<{ id: string }>(MARK_DUE);
    const items = rows.map(({ id }) => ({ handler: sendReminder, payload: { reminder: id } }));
    const jobs = await enqueueMany(client, items);
    await client.query('commit');
    return jobs.map(({ id }) => id);
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

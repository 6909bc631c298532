import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { after, afterEach, test } from 'node:test';
import { enqueue } from 'millrace';
import { assertEnqueued, openTestDatabase } from 'millrace/testing';
import { createApp } from '../app/server.ts';
import sendReminder from '../jobs/send-reminder.ts';
import { database } from '../src/database.ts';
import { mail } from '../src/mail.ts';

const millrace = await openTestDatabase({ handlers: [sendReminder], now: '2027-01-31T08:00:00Z' });
process.env.DATABASE_URL = millrace.connectionString;
await millrace.query(readFileSync('schema.sql', 'utf8'));
const server = createApp(database()).listen(0, '127.0.0.1');
await once(server, 'listening');

afterEach(async () => {
  await millrace.clear();
  await millrace.query('delete from reminders');
});

after(async () => {
  server.close();
  await database().end();
  await millrace.close();
});

async function remind(dueIn: string): Promise<string> {
  const text = `insert into reminders (recipient, subject, due_at)
    values ('ada@example.com', 'Tea', now() + $1::interval) returning id`;
  const { rows } = await millrace.query<{ id: string }>(text, [dueIn]);
  return rows[0]!.id;
}

async function stateOf(id: string): Promise<{ enqueued: boolean; sent: boolean }> {
  const text = `select enqueued_at is not null as enqueued, sent_at is not null as sent from reminders where id = $1`;
  const { rows } = await millrace.query<{ enqueued: boolean; sent: boolean }>(text, [id]);
  return rows[0]!;
}

async function runReminders(): Promise<string[]> {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/reminders/run`, { method: 'POST' });
  assert.equal(response.status, 200);
  return ((await response.json()) as { jobs: string[] }).jobs;
}

/** Lets these attempts fail, counted from 1, and returns the emails that were sent. */
function failIn(t: { mock: typeof import('node:test').mock }, ...attempts: readonly number[]): string[] {
  const sent: string[] = [];
  let attempt = 0;
  t.mock.method(mail, 'send', async ({ subject }: { subject: string }) => {
    attempt += 1;
    if (attempts.includes(attempt)) throw new Error('the mail server is down');
    sent.push(subject);
  });
  return sent;
}

test('POST /reminders/run marks the due reminders and enqueues their jobs, once, and sends nothing', async (t) => {
  const sent = failIn(t);
  const due = await remind('-1 minute');
  const later = await remind('1 hour');

  const [first, second] = [await runReminders(), await runReminders()];

  assert.deepEqual([first.length, second.length, sent], [1, 0, []]);
  assert.deepEqual(await stateOf(due), { enqueued: true, sent: false });
  assert.deepEqual(await stateOf(later), { enqueued: false, sent: false });
  await assertEnqueued(millrace, sendReminder, { reminder: due });
});

test('a send is tried four times, after 30 s, 2 min and 8 min, and then quarantined', async (t) => {
  failIn(t, 1, 2, 3, 4);
  const reminder = await remind('-1 minute');
  const [job] = await runReminders();

  const runs = await millrace.drain();

  assert.deepEqual(
    runs.map(({ at, outcome }) => `${at.toISOString().slice(11, 19)} ${outcome}`),
    ['08:00:00 failed', '08:00:30 failed', '08:02:30 failed', '08:10:30 dead_letter'],
  );
  assert.equal((await stateOf(reminder)).sent, false);
  const failed = 'select attempts, max_attempts, last_error from millrace.failed_jobs where job_id = $1';
  const { rows } = await millrace.query(failed, [job]);
  assert.deepEqual(rows, [{ attempts: 4, max_attempts: 4, last_error: 'the mail server is down' }]);
});

test('sent_at is set by the success, and by no attempt before it', async (t) => {
  const sent = failIn(t, 1, 2);
  const reminder = await remind('-1 minute');
  await runReminders();

  const failed = await millrace.drain({ until: '1m' });
  const before = await stateOf(reminder);
  const rest = await millrace.drain();

  assert.deepEqual([failed.length, before.sent], [2, false]);
  assert.deepEqual(
    rest.map(({ outcome }) => outcome),
    ['succeeded'],
  );
  assert.deepEqual([sent, (await stateOf(reminder)).sent], [['Tea'], true]);
});

test('a reminder that was deleted, or is already sent, is skipped', async (t) => {
  const sent = failIn(t);
  const reminder = await remind('-1 minute');
  await runReminders();
  await enqueue(millrace, sendReminder, { reminder });
  await enqueue(millrace, sendReminder, { reminder: '999999' });

  const runs = await millrace.drain();

  assert.deepEqual(
    runs.map(({ outcome, error }) => [outcome, error?.message]),
    [
      ['succeeded', undefined],
      ['skipped', 'the reminder was already sent'],
      ['skipped', 'the reminder was deleted'],
    ],
  );
  assert.equal(sent.length, 1);
});

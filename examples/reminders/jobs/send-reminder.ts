import { defineHandler, retry, Skip } from 'millrace';
import * as z from 'zod';
import { database } from '../src/database.ts';
import { mail } from '../src/mail.ts';

const FIND = `select recipient, subject, sent_at from reminders where id = $1`;
const MARK_SENT = `update reminders set sent_at = now() where id = $1`;

interface Reminder {
  readonly recipient: string;
  readonly subject: string;
  readonly sent_at: Date | null;
}

/** Sends one reminder by mail. A mail server that is down is tried again for ten minutes. */
export default defineHandler({
  jobType: 'send_reminder',
  payload: z.object({ reminder: z.string().regex(/^\d{1,18}$/, 'expected the id of a reminder') }),
  timeout: '30s',
  // Three retries: the first attempt counts, too.
  maxAttempts: 4,
  retry: retry.schedule(['30s', '2m', '8m']),
  // The mail server accepts two connections of ours.
  concurrency: 2,
  batch: { size: 1 },
  async run({ payload, jobId }) {
    const { rows } = await database().query<Reminder>(FIND, [payload.reminder]);
    const [reminder] = rows;
    if (reminder === undefined) throw new Skip('the reminder was deleted');
    if (reminder.sent_at !== null) throw new Skip('the reminder was already sent');
    const { recipient: to, subject } = reminder;
    await mail.send({ to, subject, messageId: `<${jobId}@reminders.example.com>` });
    await database().query(MARK_SENT, [payload.reminder]);
  },
});

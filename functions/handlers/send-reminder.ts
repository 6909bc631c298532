import * as z from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';
import { messageIdOf, sendMail } from '../mail.ts';
import { faultOfAddress } from '../mail-address.ts';

// A line break would end the header and start another.
const ONE_LINE = /^(?=.*\S)[^\p{Cc}\u2028\u2029]+$/u;

const address = z.string().check((context) => {
  const message = faultOfAddress(context.value);
  if (message !== undefined) context.issues.push({ code: 'custom', message, input: context.value });
});

/**
 * Sends a reminder by mail through the server of `SMTP_URL`.
 *
 * Idempotent as far as SMTP allows. When the process dies after the server accepted the mail and before the job is
 * recorded as succeeded, the next attempt sends the same email again with the same Message-ID. Most mailboxes show it
 * once. After the job is recorded as succeeded, the mail is never sent again.
 */
export default defineHandler({
  jobType: 'send_reminder',
  payload: z.object({
    to: address,
    subject: z.string().max(500).regex(ONE_LINE, 'must be one line, not blank'),
    text: z.string().max(200_000),
  }),
  timeout: '30s',
  // Mail servers limit connections: 5 batches of 10 open at most 50.
  concurrency: 5,
  async run({ payload, jobId, signal }) {
    const messageId = messageIdOf(jobId, payload);
    return { messageId, response: await sendMail(payload, messageId, signal) };
  },
});

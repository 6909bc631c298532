import * as z from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';
import { messageIdOf, sendMail } from '../mail.ts';

// A line break could end the header and begin another one.
const ONE_LINE = /^(?=.*\S)[^\p{Cc}\u2028\u2029]+$/u;

/**
 * Sends a reminder by mail, with the server of `SMTP_URL`.
 *
 * Idempotent as far as SMTP allows: a second run of the same job (the process died between the server's yes and our
 * record of it) sends the same mail with the same Message-ID, which most mailboxes show once, and which anybody can see
 * in the headers. A mail that the server took is never sent again after its job was recorded as succeeded.
 */
export default defineHandler({
  jobType: 'send_reminder',
  payload: z.object({
    to: z.email().max(254),
    subject: z.string().max(500).regex(ONE_LINE, 'must be one line, not blank'),
    text: z.string().max(200_000),
  }),
  timeout: '30s',
  // Mail servers count connections: 5 batches of 10 open 50 at most.
  concurrency: 5,
  async run({ payload, jobId, signal }) {
    const messageId = messageIdOf(jobId, payload);
    return { messageId, response: await sendMail(payload, messageId, signal) };
  },
});

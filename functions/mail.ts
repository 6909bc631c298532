import { createHash } from 'node:crypto';
import type { NodemailerError } from 'nodemailer';
import { optionalSetting, setting } from '../core/config.ts';
import { SettingError } from '../core/errors.ts';
import { DeadLetter } from '../core/handler/outcome.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** All well below the shortest sensible timeout of a handler, so that the error names the step that hung. */
const TIMEOUTS_MS = { dnsTimeout: 5_000, connectionTimeout: 8_000, greetingTimeout: 8_000, socketTimeout: 15_000 };

/**
 * Sends one mail to the server of `SMTP_URL` (`smtp://` or `smtps://`, user and password in it), from `SMTP_FROM`.
 *
 * Every mail has a connection of its own. Between two invocations Lambda freezes the process, and a pooled connection
 * that its server gave up meanwhile would fail the next mail, which then waits a minute for its second try.
 * @throws DeadLetter when the server refuses the recipient for good (5xx); any other failure may be tried again.
 */
export async function sendMail(mail: Mail, messageId: string, signal: AbortSignal): Promise<string> {
  const url = smtpUrl();
  const from = optionalSetting('SMTP_FROM') ?? 'Millrace <millrace@localhost>';
  // Loaded here and not above: it takes some 80 ms, and whoever only reads handler definitions does not need it.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({ url, ...TIMEOUTS_MS });
  try {
    const { response } = await transport.sendMail({
      ...mail,
      from,
      to: { name: '', address: mail.to },
      messageId,
      signal,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return response;
  } catch (error) {
    throw isRefusedRecipient(error) ? new DeadLetter(`${mail.to}: ${error.response}`, { cause: error }) : error;
  } finally {
    transport.close();
  }
}

/**
 * The Message-ID of a job's mail, the same in every attempt. The digest keeps apart the mails of two installations that
 * both count their jobs from 1: a mailbox that drops duplicates would otherwise drop the second one's.
 */
export function messageIdOf(jobId: string, { to, subject, text }: Mail): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([to, subject, text]))
    .digest('hex')
    .slice(0, 16);
  return `<job-${jobId}-${digest}@millrace>`;
}

function smtpUrl(): string {
  const expected = 'an address such as smtp://user:password@mail.example.com:587';
  const url = setting('SMTP_URL', expected);
  // The value is left out of the sentence, since it may hold a password.
  if (!/^smtps?:$/.test(URL.parse(url)?.protocol ?? '')) throw new SettingError('SMTP_URL', expected, 'something else');
  return url;
}

function isRefusedRecipient(error: unknown): error is NodemailerError & { response: string } {
  const { command, responseCode, response } = error as NodemailerError;
  return command === 'RCPT TO' && (responseCode || 0) >= 500 && typeof response === 'string';
}

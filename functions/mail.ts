import { createHash } from 'node:crypto';
import type { NodemailerError } from 'nodemailer';
import { optionalSetting, setting } from '../core/config.ts';
import { SettingError } from '../core/errors.ts';
import { DeadLetter } from '../core/handler/chosen-outcome.ts';
import { isLoopback } from '../core/loopback.ts';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Well below the shortest sensible timeout of a handler, so that the error names the step that hung. */
const TIMEOUTS_MS = { dnsTimeout: 5_000, connectionTimeout: 8_000, greetingTimeout: 8_000, socketTimeout: 15_000 };

/**
 * Sends one email from `SMTP_FROM` through the server of `SMTP_URL` (`smtp://` or `smtps://` with user and password).
 * `smtp://` requires STARTTLS, because an attacker on the network could remove the server's offer and read the
 * password. A server on this machine and a URL with `?requireTLS=false` are exempt.
 *
 * Each email opens its own connection. Lambda freezes the process between two invocations, and a pooled connection that
 * the server closed meanwhile would fail the next email, which then waits a minute for its second attempt.
 * @throws DeadLetter when the server refuses the recipient permanently (5xx); Error otherwise, which can be retried.
 */
export async function sendMail(mail: Mail, messageId: string, signal: AbortSignal): Promise<string> {
  const url = smtpUrl();
  const requireTLS = !isLoopback(new URL(url).hostname);
  const from = optionalSetting('SMTP_FROM') ?? 'Millrace <millrace@localhost>';
  // Imported here, so that reading the handler definition does not load it, which takes about 80 ms.
  const { createTransport } = await import('nodemailer');
  // The parameters of the URL take precedence over these options.
  const transport = createTransport({ url, requireTLS, ...TIMEOUTS_MS });
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
    if (isRefusedRecipient(error)) throw new DeadLetter(`${mail.to}: ${error.response}`, { cause: error });
    throw isWithoutTls(error) ? new Error(`${error.message}; ${WITHOUT_TLS}`, { cause: error }) : error;
  } finally {
    transport.close();
  }
}

/**
 * Returns the Message-ID of a job's email, the same in every attempt. The digest distinguishes emails from two
 * installations, which both count jobs from 1; otherwise a mailbox that drops duplicates would drop one of the two
 * emails.
 */
export function messageIdOf(jobId: string, { to, subject, text }: Mail): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([to, subject, text]))
    .digest('hex')
    .slice(0, 16);
  return `<job-${jobId}-${digest}@millrace>`;
}

function smtpUrl(): string {
  const expected = 'a URL such as smtp://user:password@mail.example.com:587';
  const url = setting('SMTP_URL', expected);
  // The error omits the value, which may contain a password.
  if (!/^smtps?:$/.test(URL.parse(url)?.protocol ?? '')) throw new SettingError('SMTP_URL', expected, 'something else');
  return url;
}

const WITHOUT_TLS = 'for a server without TLS, add ?requireTLS=false to SMTP_URL';

/** Returns whether the server refused STARTTLS. An error without a response means that the TLS negotiation failed. */
function isWithoutTls(error: unknown): error is NodemailerError {
  const { code, command, response } = error as NodemailerError;
  return code === 'ETLS' && command === 'STARTTLS' && typeof response === 'string';
}

function isRefusedRecipient(error: unknown): error is NodemailerError & { response: string } {
  const { command, responseCode, response } = error as NodemailerError;
  return command === 'RCPT TO' && (responseCode || 0) >= 500 && typeof response === 'string';
}

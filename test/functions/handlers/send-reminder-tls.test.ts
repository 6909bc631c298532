import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { DeadLetter } from '../../../core/handler/chosen-outcome.ts';
import sendReminder from '../../../functions/handlers/send-reminder.ts';
import { certify } from '../../support/tls-postgres.ts';
import { startMailServer } from './mail-server.ts';
import { runHandler } from './run-handler.ts';

const MAIL = { to: 'ada@example.com', subject: 'Hello', text: 'A reminder' };
let tls: { key: string; certificate: string };

beforeAll(async () => {
  tls = await certify();
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/**
 * Starts a mail server that requires a login, and sets `SMTP_URL` with a password. `0.0.0.0` is not a loopback address,
 * but connects to this machine.
 */
async function startRemoteServer(options: SMTPServerOptions, parameters = '', host = '0.0.0.0') {
  const logins: { password: unknown; secure: boolean }[] = [];
  const server = await startMailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth({ username, password }, session, answer) {
      logins.push({ password, secure: session.secure });
      answer(null, { user: username });
    },
    ...options,
  });
  const { port } = new URL(process.env.SMTP_URL ?? '');
  vi.stubEnv('SMTP_URL', `smtp://ada:secret@${host}:${port}${parameters}`);
  return { ...server, logins };
}

const send = () => runHandler(sendReminder, { payload: MAIL });
const withTls = () => ({ disabledCommands: [], key: tls.key, cert: tls.certificate });

it('send_reminder never sends a password to a remote server without TLS', async () => {
  const { logins, mails } = await startRemoteServer({});

  const error = await send().catch((thrown: unknown) => thrown);

  expect(error).not.toBeInstanceOf(DeadLetter);
  expect(error).toMatchObject({
    message: expect.stringMatching(/STARTTLS.*; for a server without TLS, add \?requireTLS=false to SMTP_URL$/),
  });
  expect([logins, mails]).toEqual([[], []]);
});

it('send_reminder sends no unencrypted mail to a remote server, even without a login', async () => {
  const { mails } = await startRemoteServer({ authOptional: true });
  vi.stubEnv('SMTP_URL', process.env.SMTP_URL?.replace('ada:secret@', ''));

  await expect(send()).rejects.toThrow('requireTLS=false');

  expect(mails).toEqual([]);
});

it('send_reminder sends the password over TLS', async () => {
  const { logins, mails } = await startRemoteServer(withTls(), '?tls.rejectUnauthorized=false');

  await send();

  expect(logins).toEqual([{ password: 'secret', secure: true }]);
  expect(mails).toHaveLength(1);
});

it('send_reminder refuses a certificate that no known authority issued', async () => {
  const { logins } = await startRemoteServer(withTls());

  await expect(send()).rejects.toThrow(/^(?!.*requireTLS).*certificate/);

  expect(logins).toEqual([]);
});

it.each([
  ['the URL contains requireTLS=false', '?requireTLS=false', '0.0.0.0'],
  ['the server is on 127.0.0.1', '', '127.0.0.1'],
  ['the server is on localhost', '', 'localhost'],
])('send_reminder accepts a server without TLS if %s', async (_case, parameters, host) => {
  const { logins, mails } = await startRemoteServer({}, parameters, host);

  await send();

  expect(logins).toEqual([{ password: 'secret', secure: false }]);
  expect(mails).toHaveLength(1);
});

it.each([
  ['ada@bücher.example', false],
  ['ada@xn--bcher-kva.example', false],
  ['bounce+ada=example.org@lists.example.com', false],
  ["a'{1}/b@example.com", false],
  ['jörg@bücher.example', true],
])('send_reminder sends an email to %s, with SMTPUTF8: %s', async (to, utf8) => {
  let envelope: SMTPServerSession['envelope'] | undefined;
  await startMailServer({
    onRcptTo(_address, session, answer) {
      envelope = session.envelope;
      answer();
    },
  });

  await runHandler(sendReminder, { payload: { ...MAIL, to } });

  // The server prints an ASCII domain as Unicode.
  expect(envelope?.rcptTo.map(({ address }) => address)).toEqual([to.replace('xn--bcher-kva', 'bücher')]);
  expect(Object.keys((envelope?.mailFrom || undefined)?.args ?? {}).includes('SMTPUTF8')).toBe(utf8);
});

it('send_reminder throws DeadLetter with the response of a server that refuses a name outside ASCII', async () => {
  const response = '553 5.6.7 SMTPUTF8 is not supported';
  const refused = Object.assign(new Error('5.6.7 SMTPUTF8 is not supported'), { responseCode: 553 });
  const { mails } = await startMailServer({
    hideSMTPUTF8: true,
    onRcptTo: ({ address }, _session, answer) => answer(/^\p{ASCII}*$/u.test(address) ? null : refused),
  });

  const attempt = runHandler(sendReminder, { payload: { ...MAIL, to: 'jörg@example.com' } });

  await expect(attempt).rejects.toThrow(new DeadLetter(`jörg@example.com: ${response}`));
  expect(mails).toEqual([]);
});

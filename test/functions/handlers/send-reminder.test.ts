import fc from 'fast-check';
import type { SMTPServerOptions } from 'smtp-server';
import { afterEach, expect, it, vi } from 'vitest';
import { DeadLetter } from '../../../core/handler/chosen-outcome.ts';
import sendReminder from '../../../functions/handlers/send-reminder.ts';
import { eventually } from '../../support/eventually.ts';
import { startMailServer, startSilentServer, useClosedPort } from './mail-server.ts';
import { runHandler, validate } from './run-handler.ts';

const MAIL = { to: 'ada@example.com', subject: 'Hello', text: 'A reminder' };

afterEach(() => {
  vi.unstubAllEnvs();
});

function refuse(responseCode: number) {
  return Object.assign(new Error('no such mailbox'), { responseCode });
}

it('send_reminder sends the mail of the payload', async () => {
  const { mails } = await startMailServer();
  vi.stubEnv('SMTP_FROM', 'Reminders <reminders@example.com>');

  const result = await runHandler(sendReminder, { payload: MAIL, jobId: '7' });

  expect(mails).toHaveLength(1);
  expect(mails[0]).toMatchObject({
    subject: 'Hello',
    text: 'A reminder\n',
    messageId: expect.stringMatching(/^<job-7-/),
  });
  expect(mails[0]?.from?.text).toBe('"Reminders" <reminders@example.com>');
  expect(mails[0]?.to).toMatchObject({ text: 'ada@example.com' });
  expect(result).toEqual({ messageId: mails[0]?.messageId, response: expect.stringMatching(/^250 /) });
});

it('send_reminder uses the same Message-ID in every attempt of a job, and another one in every other job', async () => {
  const { mails } = await startMailServer();

  await runHandler(sendReminder, { payload: MAIL, jobId: '7', attempt: { number: 1, max: 5, isLast: false } });
  await runHandler(sendReminder, { payload: MAIL, jobId: '7', attempt: { number: 2, max: 5, isLast: false } });
  await runHandler(sendReminder, { payload: MAIL, jobId: '8' });
  await runHandler(sendReminder, { payload: { ...MAIL, text: 'From another installation' }, jobId: '7' });

  const [first, second, otherJob, otherText] = mails.map((mail) => mail.messageId);
  expect(second).toBe(first);
  expect(new Set([first, otherJob, otherText]).size).toBe(3);
});

it('send_reminder closes its connection, which a freeze could break', async () => {
  const { open, mails } = await startMailServer();

  await Promise.all(['1', '2', '3'].map((jobId) => runHandler(sendReminder, { payload: MAIL, jobId })));

  await eventually(() => expect(open.size).toBe(0));
  expect(mails).toHaveLength(3);
});

it('send_reminder throws DeadLetter for an address that the server refuses permanently', async () => {
  await startMailServer({ onRcptTo: (_address, _session, answer) => answer(refuse(550)) });

  const run = runHandler(sendReminder, { payload: MAIL });

  await expect(run).rejects.toThrow(DeadLetter);
  await expect(run).rejects.toThrow('ada@example.com: 550 no such mailbox');
});

it.each([
  ['a temporarily refused recipient', { onRcptTo: (_a, _s, answer) => answer(refuse(451)) }],
  ['a permanently refused sender', { onMailFrom: (_a, _s, answer) => answer(refuse(550)) }],
  [
    'an email that is refused after its text',
    { onData: (stream, _s, answer) => stream.resume().on('end', () => answer(refuse(554))) },
  ],
] as [string, SMTPServerOptions][])('send_reminder leaves %s to the retry policy', async (_name, options) => {
  await startMailServer(options);

  const error = await runHandler(sendReminder, { payload: MAIL }).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(Error);
  expect(error).not.toBeInstanceOf(DeadLetter);
});

it('send_reminder leaves an unreachable server to the retry policy', async () => {
  await useClosedPort();

  const error = await runHandler(sendReminder, { payload: MAIL }).catch((thrown: unknown) => thrown);

  expect(error).toMatchObject({ code: 'ESOCKET', message: expect.stringContaining('ECONNREFUSED') });
});

it('send_reminder closes its connection when its signal aborts', async () => {
  const { sockets } = await startSilentServer();
  const stop = new AbortController();

  const run = runHandler(sendReminder, { payload: MAIL, signal: stop.signal });
  run.catch(() => undefined);
  await eventually(() => expect(sockets).toHaveLength(1));
  stop.abort(new Error('over'));

  await expect(run).rejects.toMatchObject({ name: 'AbortError' });
  await eventually(() => expect(sockets[0]?.readableEnded || sockets[0]?.destroyed).toBe(true));
});

it.each([undefined, '', ' ', 'mail.example.com', 'http://mail.example.com', 'smtp//x'])(
  'send_reminder names SMTP_URL when it is %j',
  async (url) => {
    vi.stubEnv('SMTP_URL', url);

    const run = runHandler(sendReminder, { payload: MAIL });

    await expect(run).rejects.toMatchObject({ code: 'MILLRACE_SETTING', field: 'SMTP_URL' });
    await expect(run).rejects.toThrow(/^SMTP_URL: expected a URL such as smtp:/);
  },
);

it('send_reminder omits a password in SMTP_URL from its error', async () => {
  vi.stubEnv('SMTP_URL', 'smpt://user:secret@mail.example.com');

  await expect(runHandler(sendReminder, { payload: MAIL })).rejects.toThrow(/^(?!.*secret)/);
});

it.each([
  ['to', 'ada', 'must contain one @, as in ada@example.com'],
  ['to', 7, 'expected string, received number'],
  ['subject', '', 'must be one line, not blank'],
  ['subject', ' ', 'must be one line, not blank'],
  ['subject', 'Hello\r\nBcc: eve@example.com', 'must be one line, not blank'],
  ['subject', 'Hello\nthere', 'must be one line, not blank'],
  ['subject', 'a'.repeat(501), 'expected string to have <=500 characters'],
  ['text', 7, 'expected string, received number'],
  ['text', undefined, 'expected string, received undefined'],
])('send_reminder rejects a payload whose %s is %j, and names the expected value', async (field, value, message) => {
  const { issues } = await validate(sendReminder, { ...MAIL, [field]: value });

  expect(issues).toMatchObject([{ path: [field], message: expect.stringContaining(message) }]);
});

it('a subject that passes the schema never starts another header', async () => {
  const { mails } = await startMailServer();
  const subjects = fc.string({
    unit: fc.constantFrom('a', ' ', ':', '\r', '\n', '\u2028', '\0', 'é', '😀'),
    minLength: 1,
  });

  await fc.assert(
    fc.asyncProperty(subjects, async (subject) => {
      mails.length = 0;
      const accepted = await validate(sendReminder, { ...MAIL, subject });
      fc.pre(accepted.issues === undefined);

      await runHandler(sendReminder, { payload: { ...MAIL, subject } });

      expect(mails[0]?.subject?.trim() ?? '').toBe(subject.trim());
      expect([...(mails[0]?.headers.keys() ?? [])].sort()).toEqual(HEADERS);
    }),
    { numRuns: 15 },
  );
});

const HEADERS = [
  'content-transfer-encoding',
  'content-type',
  'date',
  'from',
  'message-id',
  'mime-version',
  'subject',
  'to',
];

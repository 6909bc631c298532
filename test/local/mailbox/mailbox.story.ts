import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { expect, it, onTestFinished } from 'vitest';
import { type Mailbox, startMailbox } from '../../../local/mailbox/mailbox.ts';
import { readMail, readMails } from '../../../local/mailbox/mails.ts';
import { startAgain, stopMailbox } from '../../../local/mailbox/stopped.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

interface Box extends Mailbox {
  readonly folder: string;
  send(mail?: SendMailOptions): Promise<unknown>;
}

const REMINDER = { from: 'millrace@example.com', to: 'ada@example.com', subject: 'Hello', text: 'A reminder' };

async function start(): Promise<Box> {
  const folder = join(await temporaryFolder(), 'mail');
  const mailbox = await startMailbox({ port: 0, folder });
  onTestFinished(() => mailbox.close());
  const transport = createTransport({ url: mailbox.url });
  return { ...mailbox, folder, send: (mail) => transport.sendMail({ ...REMINDER, ...mail }) };
}

it('the mailbox stores sender, recipients, Message-ID, subject and text of an email', async () => {
  const { folder, send } = await start();

  await send({
    to: 'Ada <ada@example.com>',
    bcc: 'grace@example.com',
    subject: 'Grüße 😀',
    text: 'Zeile 1\nZeile 2',
    messageId: '<job-7@millrace>',
  });

  const [mail, ...others] = await readMails(folder);
  expect(others).toEqual([]);
  expect(mail).toEqual({
    id: expect.stringMatching(/^\d{8}T\d{9}Z-\d{8}-[0-9a-f]{6}$/),
    receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    from: 'millrace@example.com',
    to: ['ada@example.com', 'grace@example.com'],
    messageId: '<job-7@millrace>',
    subject: 'Grüße 😀',
  });
  expect(await readMail(folder, mail!.id)).toEqual({
    ...mail,
    headerFrom: 'millrace@example.com',
    headerTo: '"Ada" <ada@example.com>',
    text: 'Zeile 1\nZeile 2\n',
  });
});

it('the mailbox stores an email that is sent twice as two emails', async () => {
  const { folder, send } = await start();

  await send({ messageId: '<job-7@millrace>' });
  await send({ messageId: '<job-7@millrace>' });

  const mails = await readMails(folder);
  expect(mails.map(({ messageId }) => messageId)).toEqual(['<job-7@millrace>', '<job-7@millrace>']);
});

it('the mailbox accepts many emails at once and lists them in the order of their arrival', async () => {
  const { folder, send } = await start();
  await send({ subject: 'first' });

  await Promise.all(Array.from({ length: 100 }, (_, index) => send({ subject: `middle ${index}` })));
  await send({ subject: 'last' });

  const subjects = (await readMails(folder)).map(({ subject }) => subject);
  expect(new Set(subjects).size).toBe(102);
  expect(subjects.at(0)).toBe('first');
  expect(subjects.at(-1)).toBe('last');
});

it('the mailbox lists an email whose recipients do not fit into its first bytes', async () => {
  const { folder, send } = await start();
  const to = Array.from({ length: 300 }, (_, index) => `reader-${index}@example.com`);

  await send({ to });

  expect((await readMails(folder))[0]?.to).toEqual(to);
});

it('the mailbox accepts any login', async () => {
  const { folder, port } = await start();
  const transport = createTransport({ url: `smtp://user:secret@127.0.0.1:${port}` });

  await transport.sendMail(REMINDER);

  expect(await readMails(folder)).toHaveLength(1);
});

it('the mailbox refuses every connection while it is stopped, and accepts emails again afterwards', async () => {
  const { folder, send } = await start();
  await stopMailbox(folder);

  await expect(send()).rejects.toThrow(/421 .*mailbox is stopped/);
  await startAgain(folder);
  await send();

  expect(await readMails(folder)).toHaveLength(1);
});

it('the mailbox refuses the next email on a connection that was open when it was stopped', async () => {
  const { folder, url } = await start();
  const transport = createTransport({ url, pool: true, maxConnections: 1 });
  onTestFinished(() => transport.close());
  await transport.sendMail(REMINDER);
  await stopMailbox(folder);

  await expect(transport.sendMail(REMINDER)).rejects.toThrow(/421 .*mailbox is stopped/);

  expect(await readMails(folder)).toHaveLength(1);
});

it('the mailbox refuses an email that is too large, and stores nothing', async () => {
  const { folder, send } = await start();

  await expect(send({ text: 'x'.repeat(26_000_000) })).rejects.toThrow(/552/);

  expect(await readdir(folder)).toEqual([]);
});

it('readMails and readMail ignore a missing folder, a foreign file and a path outside the folder', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'mail'));
  await writeFile(join(folder, 'mail', 'notes.eml'), 'Subject: not ours\r\n\r\n');
  await writeFile(join(folder, 'secret.eml'), 'X-Millrace-Mail: {}\r\n\r\n');

  expect(await readMails(join(folder, 'nowhere'))).toEqual([]);
  expect(await readMails(join(folder, 'mail'))).toEqual([]);
  expect(await readMail(join(folder, 'mail'), 'unknown')).toBeUndefined();
  expect(await readMail(join(folder, 'mail'), '../secret')).toBeUndefined();
});

it('the mailbox keeps every accepted mail when it is killed right afterwards', async () => {
  const folder = join(await temporaryFolder(), 'mail');
  const first = await startProcess(folder);
  const transport = createTransport({ host: '127.0.0.1', port: first.port });
  await transport.sendMail({ ...REMINDER, messageId: '<job-1@millrace>' });
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');
  await writeFile(join(folder, '.half.new'), 'X-Millr');

  const second = await startProcess(folder);
  second.process.kill('SIGTERM');
  const [code] = await once(second.process, 'exit');

  expect(code).toBe(0);
  expect((await readMails(folder)).map(({ messageId }) => messageId)).toEqual(['<job-1@millrace>']);
  expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
});

async function startProcess(folder: string) {
  const box = spawn(process.execPath, ['local/mailbox/main.ts', '--port', '0', '--folder', folder]);
  onTestFinished(() => void box.kill('SIGKILL'));
  let output = '';
  box.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const { event, port } = await eventually(() => JSON.parse(output) as { event: string; port: number });
  expect(event).toBe('listening');
  return { process: box, port };
}

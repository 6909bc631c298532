import type { Command } from 'commander';
import type { Mail, OpenedMail } from '../../local/mailbox/mails.ts';
import { isStopped, startAgain, stopMailbox } from '../../local/mailbox/stopped.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { addDefault } from '../options/default-command.ts';
import { whole } from '../options/values.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { print, printMessage, printPairs, printTable, suggest } from '../screen/terminal.ts';
import { findStack } from '../target/target.ts';

const number = whole(1, 1_000_000_000);

/** `millrace mail [list] | show | stop | start`: the mail that handlers sent through the stack on this machine. */
export function addMail(program: Command): void {
  const mail = program
    .command('mail')
    .description('read the mail that the local stack received, or stop and start its mailbox')
    .addHelpText('after', examples('mail', 'mail show 1', 'mail stop'));
  addJsonLines(addDefault(mail, 'list'))
    .description('list all emails, oldest first')
    .addHelpText('after', examples('mail', 'mail --jsonl'))
    .action(action(list));
  mail
    .command('show')
    .argument('<n>', 'the number of the email in the list', number)
    .description('show one email')
    .addHelpText('after', examples('mail show 1'))
    .action(action(show));
  mail
    .command('stop')
    .description('reject all mail, to test how jobs fail and are retried')
    .addHelpText('after', examples('mail stop'))
    .action(action((options: GlobalOptions) => turn(options, false)));
  mail
    .command('start')
    .description('accept all mail again')
    .addHelpText('after', examples('mail start'))
    .action(action((options: GlobalOptions) => turn(options, true)));
}

async function list(options: ListOptions): Promise<undefined> {
  const { readMails } = await openMails();
  const folder = await mailFolder();
  const mails = await readMails(folder);
  const documents = mails.map((mail, index) => ({ number: index + 1, ...snakeCase(mail) }));
  printList(options, documents, () => {
    if (mails.length > 0) printTable(['N', 'RECEIVED', 'FROM', 'TO', 'SUBJECT'], mails.map(toRow));
    else printMessage('no mail yet');
  });
  if (await isStopped(folder)) printMessage('the mailbox is stopped and rejects all mail: npx millrace mail start');
  if (mails.length > 0) suggest(`npx millrace mail show ${mails.length}`);
  return undefined;
}

function toRow({ receivedAt, from, to, subject }: Mail, index: number): (string | number | Date)[] {
  return [index + 1, new Date(receivedAt), from, to.join(', '), subject];
}

async function show({ json }: GlobalOptions, place: number): Promise<undefined> {
  const { readMail, readMails } = await openMails();
  const folder = await mailFolder();
  const mails = await readMails(folder);
  const mail = await readMail(folder, mails[place - 1]?.id ?? '');
  if (mail === undefined) {
    throw new CommandFailure(EXIT.notFound, `email ${place} does not exist; the mailbox has ${mails.length}`);
  }
  if (json) print(toJson({ number: place, ...snakeCase(mail) }));
  else printMail(mail);
  return undefined;
}

function printMail(mail: OpenedMail): void {
  printPairs([
    ['Received', mail.receivedAt],
    ['From', mail.headerFrom],
    ['To', mail.headerTo],
    ['Envelope', `${mail.from} to ${mail.to.join(', ')}`],
    ['Message-ID', mail.messageId],
    ['Subject', mail.subject],
  ]);
  print(`\n${mail.text}`);
}

async function turn({ json }: GlobalOptions, on: boolean): Promise<undefined> {
  const folder = await mailFolder();
  await (on ? startAgain(folder) : stopMailbox(folder));
  if (json) print(toJson({ stopped: !on }));
  printMessage(on ? 'the mailbox accepts mail again' : 'the mailbox now rejects all mail');
  suggest(on ? 'npx millrace mail' : 'npx millrace mail start');
  return undefined;
}

async function mailFolder(): Promise<string> {
  const { state } = await findStack();
  return state.mailFolder;
}

/** Loaded when needed: it imports the email parser. */
function openMails(): Promise<typeof import('../../local/mailbox/mails.ts')> {
  return import('../../local/mailbox/mails.ts');
}

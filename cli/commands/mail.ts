import type { Command } from 'commander';
import type { Mail, OpenedMail } from '../../local/mailbox/mails.ts';
import { isStopped, startAgain, stopMailbox } from '../../local/mailbox/stopped.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { whole } from '../options/values.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { isTable, print, printPairs, printRows, say, suggest, visible } from '../screen/terminal.ts';
import { findStack } from '../target/target.ts';

const number = whole(1, 1_000_000_000);

/** `millrace mail [list] | show | stop | start`: what the handlers sent while the stack runs on this machine. */
export function addMail(program: Command): void {
  const mail = program
    .command('mail')
    .description('read the mails that the stack on this machine has caught')
    .addHelpText('before', examples('mail', 'mail show 1', 'mail stop'));
  addJsonLines(mail.command('list', { isDefault: true }))
    .description('every mail, the oldest first')
    .addHelpText('before', examples('mail', 'mail --jsonl'))
    .action(action(list));
  mail
    .command('show')
    .argument('<n>', 'its number in the list', number)
    .description('show one mail')
    .addHelpText('before', examples('mail show 1'))
    .action(action(show));
  mail
    .command('stop')
    .description('refuse every mail, to see jobs fail and retry')
    .addHelpText('before', examples('mail stop'))
    .action(action((options: GlobalOptions) => turn(options, false)));
  mail
    .command('start')
    .description('take mails again')
    .addHelpText('before', examples('mail start'))
    .action(action((options: GlobalOptions) => turn(options, true)));
}

async function list(options: ListOptions): Promise<undefined> {
  const { readMails } = await openMails();
  const folder = await mailFolder();
  const mails = await readMails(folder);
  const documents = mails.map((mail, index) => ({ number: index + 1, ...snakeCase(mail) }));
  printList(options, documents, () => {
    if (mails.length > 0) printRows(['N', 'RECEIVED', 'FROM', 'TO', 'SUBJECT'], mails.map(toRow));
    else say('no mail yet');
  });
  if (await isStopped(folder)) say('the mailbox refuses every mail; stopped: npx millrace mail start');
  if (mails.length > 0) suggest(`npx millrace mail show ${mails.length}`);
  return undefined;
}

function toRow({ receivedAt, from, to, subject }: Mail, index: number): (string | number)[] {
  return [index + 1, receivedAt, from, to.join(', '), subject];
}

async function show({ json }: GlobalOptions, place: number): Promise<undefined> {
  const { readMail, readMails } = await openMails();
  const folder = await mailFolder();
  const mails = await readMails(folder);
  const mail = await readMail(folder, mails[place - 1]?.id ?? '');
  if (mail === undefined) {
    throw new CommandFailure(EXIT.notFound, `there is no mail ${place}; there are ${mails.length}`);
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
  print(`\n${isTable() ? visible(mail.text) : mail.text}`);
}

async function turn({ json }: GlobalOptions, on: boolean): Promise<undefined> {
  const folder = await mailFolder();
  await (on ? startAgain(folder) : stopMailbox(folder));
  if (json) print(toJson({ stopped: !on }));
  say(on ? 'the mailbox takes mails again' : 'the mailbox refuses every mail from now on');
  suggest(on ? 'npx millrace mail' : 'npx millrace mail start');
  return undefined;
}

async function mailFolder(): Promise<string> {
  const { state } = await findStack();
  return state.mailFolder;
}

/** Loaded when needed: it brings the parser of mails. */
function openMails(): Promise<typeof import('../../local/mailbox/mails.ts')> {
  return import('../../local/mailbox/mails.ts');
}

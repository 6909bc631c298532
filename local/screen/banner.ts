import { handlerName } from '../../core/handler/naming.ts';
import type { PackageManager } from '../project-commands.ts';
import type { Stack } from '../stack.ts';
import { withoutPassword } from './without-password.ts';
import type { Part } from './writers.ts';

interface BannerOptions {
  readonly fastRetries: boolean;
  readonly samples: boolean;
  /** Folder of the handler files, from that of the project. */
  readonly folder: string;
  /** True if `millrace mail stop` was run during an earlier start. */
  readonly mailboxStopped: boolean;
  /** What precedes `millrace` in a command. */
  readonly run: PackageManager['run'];
}

/** Returns the text printed once everything runs: addresses, and commands to try next. */
export function banner(stack: Stack, options: BannerOptions): readonly Part[] {
  const { fastRetries, samples, folder, mailboxStopped, run } = options;
  const postgres = `Postgres ${stack.services.postgres.current().version}`;
  const lines = [
    ` runs on this machine     Node ${process.versions.node}, ${postgres}`,
    '',
    `  Database   ${withoutPassword(stack.databaseUrl)}     ${run} millrace psql`,
    `             its URL with the password: ${run} millrace url`,
    `  SQS        ${stack.sqsEndpoint}${stack.services.sqs.ours ? '' : '     set by AWS_ENDPOINT_URL_SQS'}`,
    `  Lambda     ${stack.runner.endpoint}`,
    `  API        ${stack.apiUrl}     docs: ${stack.apiUrl}/docs`,
    `  Mailbox    ${stack.smtpUrl}     ${mailboxStopped ? `stopped: ${run} millrace mail start` : `read it: ${run} millrace mail`}`,
    `  Files      ${stack.services.files.url}     kept in .millrace/files`,
    ...handlerLines(stack, folder),
    `             saving a file in ${folder}, or one that it imports, reloads them`,
    ...(fastRetries ? ['  Retries    every delay is divided by 60 (--fast-retries)'] : []),
    '',
    '  Next, in a second terminal:',
    ...next(stack, samples, { folder, run }).map((line) => `    ${line}`),
    '',
    '  Ctrl-C lets running jobs finish, then exits; a second Ctrl-C exits at once.',
    '',
  ];
  return ['\n  ', { style: 'bold', text: 'Millrace' }, lines.join('\n')];
}

const INDENT = ' '.repeat(13);
const COLUMNS = 80;

/** Returns the names separated by commas, on lines of at most 80 columns. */
function wrapped(names: readonly string[]): string {
  const lines = [''];
  for (const name of names.map((one, index) => (index < names.length - 1 ? `${one},` : one))) {
    const line = [lines.at(-1), name].filter(Boolean).join(' ');
    if (INDENT.length + line.length <= COLUMNS || lines.at(-1) === '') lines.splice(-1, 1, line);
    else lines.push(name);
  }
  return lines.join(`\n${INDENT}`);
}

function handlerLines({ handlers }: Stack, folder: string): string[] {
  const names = handlers.list().map(({ definition }) => handlerName(definition));
  const broken = handlers.complaints();
  return [
    `  Handlers   ${wrapped(names) || (broken.length > 0 ? 'none' : `none; add a file to ${folder}`)}`,
    ...broken.map((complaint) => `             not loaded: ${complaint}; correct it and save it again`),
  ];
}

/** Payloads of the handlers that a clone and `millrace init` contain. */
const PAYLOADS: Readonly<Record<string, string>> = {
  send_reminder: '{"to": "ada@example.com", "subject": "Hello", "text": "A reminder"}',
  say_hello: '{"name": "Ada"}',
};
/** The folder of `send_reminder`. A project can have a handler of the same name in its own folder. */
const SAMPLES = 'functions/handlers';

/** Returns commands to try. Of a handler of the user, only its author knows a payload. */
function next(
  { handlers }: Stack,
  samples: boolean,
  { folder, run }: { readonly folder: string; readonly run: BannerOptions['run'] },
): string[] {
  const types = handlers.list().map(({ definition }) => definition.jobType);
  const known = (jobType: string) =>
    Object.hasOwn(PAYLOADS, jobType) && (jobType !== 'send_reminder' || folder === SAMPLES);
  const sample = types.find(known);
  const jobType = sample ?? types[0];
  const payload = PAYLOADS[sample ?? ''] ?? '<payload as JSON>';
  return [
    ...(jobType === undefined ? [] : [`${run} millrace enqueue ${jobType} \\`, `  '${payload}'`]),
    `${run} millrace jobs list`,
    ...(samples ? [`${run} millrace jobs list --status dead_letter    # sample job 4 died`] : []),
    `${run} millrace sql \\`,
    '  "select id, status, attempts, last_error from millrace.jobs order by id"',
  ];
}

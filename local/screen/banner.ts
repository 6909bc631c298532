import { handlerName } from '../../core/handler/naming.ts';
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
}

/** Returns the text printed once everything runs: addresses, and commands to try next. */
export function banner(stack: Stack, { fastRetries, samples, folder, mailboxStopped }: BannerOptions): readonly Part[] {
  const postgres = `Postgres ${stack.services.postgres.current().version}`;
  const lines = [
    ` runs on this machine     Node ${process.versions.node}, ${postgres}`,
    '',
    `  Database   ${withoutPassword(stack.databaseUrl)}     npx millrace psql`,
    '             its URL with the password: npx millrace url',
    `  SQS        ${stack.sqsEndpoint}${stack.services.sqs.ours ? '' : '     set by AWS_ENDPOINT_URL_SQS'}`,
    `  Lambda     ${stack.runner.endpoint}`,
    `  API        ${stack.apiUrl}     docs: ${stack.apiUrl}/docs`,
    `  Mailbox    ${stack.smtpUrl}     ${mailboxStopped ? 'stopped: npx millrace mail start' : 'read it: npx millrace mail'}`,
    `  Files      ${stack.services.files.url}     kept in .millrace/files`,
    ...handlerLines(stack, folder),
    `             saving a file in ${folder}, or one that it imports, reloads them`,
    ...(fastRetries ? ['  Retries    every delay is divided by 60 (--fast-retries)'] : []),
    '',
    '  Next, in a second terminal:',
    ...next(stack, samples, folder).map((line) => `    ${line}`),
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

/** The folder of the sample handlers. A project can have a handler of the same name in its own folder. */
const SAMPLES = 'functions/handlers';

/** Returns commands to try. The payload of a sample handler is known. */
function next({ handlers }: Stack, samples: boolean, folder: string): string[] {
  const [first, ...others] = handlers.list().map(({ definition }) => definition.jobType);
  const sample = [first, ...others].find((jobType) => jobType === 'send_reminder' && folder === SAMPLES);
  const payload = sample ? '{"to": "ada@example.com", "subject": "Hello", "text": "A reminder"}' : '{}';
  return [
    ...(first === undefined ? [] : [`npx millrace enqueue ${sample ?? first} \\`, `  '${payload}'`]),
    'npx millrace jobs list',
    ...(samples ? ['npx millrace jobs list --status dead_letter    # sample job 4 died'] : []),
    'npx millrace sql \\',
    '  "select id, status, attempts, last_error from millrace.jobs order by id"',
  ];
}

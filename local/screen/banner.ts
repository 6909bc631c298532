import { styleText } from 'node:util';
import { handlerName } from '../../core/handler/naming.ts';
import type { Stack } from '../stack.ts';

interface BannerOptions {
  readonly fastRetries: boolean;
  readonly samples: boolean;
  /** True if `millrace mail stop` was run during an earlier start. */
  readonly mailboxStopped: boolean;
}

/** Returns the text printed once everything runs: addresses, and commands to try next. */
export function banner(stack: Stack, { fastRetries, samples, mailboxStopped }: BannerOptions): string {
  const bold = (text: string) => styleText('bold', text);
  const names = stack.handlers.list().map(({ definition }) => handlerName(definition));
  const postgres = `Postgres ${stack.services.postgres.current().version}`;
  const database = withoutPassword(stack.databaseUrl);
  return [
    '',
    `  ${bold('Millrace')} runs on this machine     Node ${process.versions.node}, ${postgres}`,
    '',
    `  Database   ${database}          with its password: npx millrace url`,
    `  SQS        ${stack.sqsEndpoint}${stack.services.sqs.ours ? '' : '     set by AWS_ENDPOINT_URL_SQS'}`,
    `  Lambda     ${stack.runner.endpoint}`,
    `  API        ${stack.apiUrl}          docs: ${stack.apiUrl}/docs`,
    `  Mailbox    ${stack.smtpUrl}          ${mailboxStopped ? 'stopped; start it: npx millrace mail start' : 'read it: npx millrace mail'}`,
    `  Files      ${stack.services.files.url}     kept in .millrace/files`,
    `  Handlers   ${names.join(', ') || 'none; add a file to functions/handlers'}`,
    '             saving a file in functions/ reloads them',
    ...(fastRetries ? ['  Retries    every delay is divided by 60 (--fast-retries)'] : []),
    '',
    '  Next, in a second terminal:',
    ...next(samples).map((line) => `    ${line}`),
    '',
    '  Ctrl-C lets running jobs finish and stops everything; a second one stops at once.',
    '',
  ].join('\n');
}

/** The output of `npm start` may go to a log. */
export function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = '';
  return url.href;
}

function next(samples: boolean): string[] {
  const payload = '{"to": "ada@example.com", "subject": "Hello", "text": "A reminder"}';
  return [
    `npx millrace enqueue send_reminder '${payload}'`,
    'npx millrace jobs list',
    ...(samples ? ['npx millrace jobs list --status dead_letter    # sample job 4 failed its only attempt'] : []),
    `npx millrace sql "select id, status, attempts, last_error from millrace.jobs order by id"`,
  ];
}

import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import { runText, type StatementResult } from '../../core/postgres/database.ts';
import { CommandFailure } from '../command-failure.ts';
import { EXIT } from '../exit-code.ts';
import { action, examples } from '../options/action.ts';
import { toJson } from '../screen/json.ts';
import { print, printRows, say, suggest, warn, whisper } from '../screen/terminal.ts';
import { sqlFailure } from '../sql-failure.ts';
import { toValues } from '../sql-values.ts';
import { databaseFailure, isSchemaMissing } from '../target/database-failure.ts';
import { CONNECT_TIMEOUT_MS, CONNECTION_NAME, findDatabase, type GlobalOptions } from '../target/target.ts';

/** `millrace sql`: psql for those who have none. */
export function addSql(program: Command): void {
  program
    .command('sql')
    .argument('[statements]', 'one or more statements, one transaction; - or nothing reads standard input')
    .description('run SQL; rows come as a table, or with tabs between the columns into a pipe')
    .addHelpText(
      'before',
      examples(
        `sql "insert into millrace.jobs (job_type, payload) values ('send_reminder', '{}') returning id"`,
        'sql "select id, status, attempts from millrace.jobs order by id desc limit 5"',
        'sql --json < report.sql',
      ),
    )
    .addHelpText('after', '\n--json prints [{ "command", "row_count", "rows": [{ … }] }], one entry a statement.')
    .action(action(runSql));
}

async function runSql(options: GlobalOptions, given: string | undefined): Promise<undefined> {
  const text = await readStatements(given);
  const address = await findDatabase(options);
  whisper(`Database: ${address.label}`);
  const ask = { connectionString: address.url, name: CONNECTION_NAME, connectTimeoutMs: CONNECT_TIMEOUT_MS };
  const { results, unfinished } = await runText(text, { ...ask, onNotice: say }).catch((error: unknown) => {
    const failure = isSchemaMissing(error) ? error : databaseFailure(error, address);
    throw failure === error ? sqlFailure(error, text) : failure;
  });
  const answered = results.filter(({ command }) => command !== '');
  if (options.json) print(toJson(answered.map(toDocument)));
  else for (const result of answered) show(result);
  if (unfinished) warn('the transaction was left open, so it is rolled back: end it with commit');
  suggest('npx millrace jobs list');
  return undefined;
}

async function readStatements(given: string | undefined): Promise<string> {
  if (given !== undefined && given !== '-') return given;
  if (given === undefined && process.stdin.isTTY) {
    throw new CommandFailure(
      EXIT.usage,
      'expected a statement, such as: npx millrace sql "select * from millrace.jobs"',
    );
  }
  return readAll(process.stdin);
}

function toDocument(result: StatementResult): Record<string, unknown> {
  return { command: result.command, row_count: result.rowCount, rows: toValues(result) };
}

function show({ command, rowCount, columns, rows }: StatementResult): void {
  if (columns.length > 0)
    printRows(
      columns.map(({ name }) => name),
      rows,
    );
  const count = rowCount === null ? '' : `, ${rowCount} ${rowCount === 1 ? 'row' : 'rows'}`;
  whisper(`${command}${count}`);
}

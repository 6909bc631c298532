import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import { errorCode, runText, type StatementResult } from '../../core/postgres/database.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { exactJson, toJson } from '../screen/json.ts';
import { print, printRows, say, suggest, warn, whisper } from '../screen/terminal.ts';
import { databaseFailure, isSchemaMissing, MIGRATE } from '../target/database-failure.ts';
import { CONNECT_TIMEOUT_MS, CONNECTION_NAME, findDatabase } from '../target/target.ts';

/** Oids of pg_type, which never change. */
const BOOLEAN = 16;
const SMALL_NUMBERS = [21, 23];
const JSON_TYPES = [114, 3802];

interface Details {
  readonly position?: string;
  readonly detail?: string;
  readonly hint?: string;
}

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

/**
 * Rows as objects. Small integers, booleans and JSON are what they are; all else is the text that Postgres wrote, since
 * a bigint or numeric does not fit a JSON number everywhere.
 */
function toValues({ columns, rows }: StatementResult): Record<string, unknown>[] {
  const names = distinct(columns.map(({ name }) => name));
  return rows.map((row) =>
    Object.fromEntries(row.map((cell, index) => [names[index], toValue(cell, columns[index]?.type ?? 0)])),
  );
}

function toValue(cell: string | null, type: number): unknown {
  if (cell === null) return null;
  if (type === BOOLEAN) return cell === 't';
  if (SMALL_NUMBERS.includes(type)) return Number(cell);
  return JSON_TYPES.includes(type) ? exactJson(cell) : cell;
}

/** `id, id` becomes `id, id_2`: an object holds a name once. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let copy = 2; taken.has(free); copy += 1) free = `${name}_${copy}`;
    taken.add(free);
    return free;
  });
}

/** What the server said of a person's statement, with the place, the details and the hint. */
function sqlFailure(error: unknown, text: string): unknown {
  const code = errorCode(error);
  if (!(error instanceof Error) || code === undefined) return error;
  const { position, detail, hint } = error as Details;
  const lines = [
    `${error.message} (${code})`,
    ...(position === undefined ? [] : placeOf(text, Number(position))),
    ...(detail === undefined ? [] : [`detail: ${detail}`]),
    ...(hint === undefined ? [] : [`hint: ${hint}`]),
    ...(isSchemaMissing(error) ? [`a database without Millrace is set up by ${MIGRATE}`] : []),
  ];
  return new CommandFailure(EXIT.failed, lines.join('\n'), { cause: error });
}

/** The line of the statement and a mark below it. The position counts code points from 1. */
function placeOf(text: string, position: number): string[] {
  const before = [...text].slice(0, position - 1).join('');
  const number = before.split('\n').length;
  const line = text.split('\n')[number - 1] ?? '';
  const column = [...(before.split('\n').at(-1) ?? '')].length;
  const prefix = `line ${number}: `;
  return [prefix + line.replaceAll('\t', ' '), `${' '.repeat(prefix.length + column)}^`];
}

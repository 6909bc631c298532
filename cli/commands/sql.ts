import type { Command } from 'commander';
import { lacksSchema, runText, type StatementResult } from '../../core/postgres/run-text.ts';
import { errorCode } from '../../core/postgres/statement-errors.ts';
import { shellWord, withoutMark } from '../../core/text.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { readInput } from '../options/input.ts';
import { interruptible } from '../screen/interrupt.ts';
import { exactJson, toJson } from '../screen/json.ts';
import { print, printHint, printMessage, printRows, suggest, warn } from '../screen/terminal.ts';
import { databaseFailure, isSchemaMissing, MIGRATE } from '../target/database-failure.ts';
import { CONNECT_TIMEOUT_MS, CONNECTION_NAME, findDatabase } from '../target/target.ts';

/** Oids of pg_type, which never change. */
const BOOLEAN = 16;
const SMALL_NUMBERS = [21, 23];
const JSON_TYPES = [114, 3802];

/** SQLSTATE of a statement that was canceled, or that reached its time limit. */
const CANCELED = '57014';

interface Details {
  readonly position?: string;
  readonly detail?: string;
  readonly hint?: string;
  readonly constraint?: string;
}

/** `millrace sql`: runs SQL without psql. */
export function addSql(program: Command): void {
  program
    .command('sql')
    .argument('[statements]', 'one or more statements, run in one transaction; - or no argument reads standard input')
    .description('run SQL and print the rows as a table, or tab-separated in a pipe')
    .addHelpText(
      'after',
      examples(
        `sql "insert into millrace.jobs (job_type, payload) values ('send_reminder', '{}') returning id"`,
        'sql "select id, status, attempts from millrace.jobs order by id desc limit 5"',
        'sql --json < report.sql',
      ),
    )
    .addHelpText('after', '\n--json prints [{ "command", "row_count", "rows": [{ … }] }], one entry per statement.')
    .action(action(runSql));
}

async function runSql(options: GlobalOptions, given: string | undefined): Promise<undefined> {
  const text = await readStatements(given);
  const address = await findDatabase(options);
  printHint(`Database: ${address.label}`);
  const ask = { connectionString: address.url, name: CONNECTION_NAME, connectTimeoutMs: CONNECT_TIMEOUT_MS };
  const { results, unfinished } = await interruptible((cancelled) =>
    runText(text, { ...ask, onNotice: printMessage, cancelled }).catch(async (error: unknown) => {
      if (cancelled.aborted && errorCode(error) === CANCELED)
        throw new CommandFailure(EXIT.interrupted, 'the statement was canceled, and its transaction was rolled back');
      const failure = isSchemaMissing(error) ? error : databaseFailure(error, address);
      if (failure instanceof CommandFailure && failure !== error) {
        const lines = [failure.message, ...hintOnNewJob(error, text)];
        throw new CommandFailure(failure.exitCode, lines.join('\n'), { cause: error });
      }
      // A mistyped name causes the same errors as a database without the schema.
      const isMissing = isSchemaMissing(error) && (await lacksSchema({ ...ask, cancelled, onNotice: printMessage }));
      throw sqlFailure(error, text, isMissing);
    }),
  );
  const answered = results.filter(({ command }) => command !== '');
  if (options.json) print(toJson(answered.map(toDocument)));
  else for (const result of answered) show(result);
  if (unfinished) warn('the transaction was left open and is rolled back: end it with commit');
  suggest('npx millrace jobs list');
  return undefined;
}

async function readStatements(given: string | undefined): Promise<string> {
  if (given !== undefined && /^\S+\.sql$/i.test(given)) {
    const line = `npx millrace sql < ${shellWord(given)}`;
    throw new CommandFailure(EXIT.usage, `${given} is the name of a file, not a statement: ${line}`);
  }
  if (given !== undefined && given !== '-' && given.trim() !== '') return withoutMark(given);
  if (given?.trim() === '' || (given === undefined && process.stdin.isTTY)) {
    throw new CommandFailure(
      EXIT.usage,
      'expected a statement, such as: npx millrace sql "select * from millrace.jobs"',
    );
  }
  return readInput();
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
  printHint(`${command}${count}`);
}

/**
 * Returns rows as objects. Small integers, booleans and JSON keep their types; every other value is the text from
 * Postgres, since a bigint or numeric does not fit a JSON number everywhere.
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

/** Turns `id, id` into `id, id_2`, since an object has a name only once. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let copy = 2; taken.has(free); copy += 1) free = `${name}_${copy}`;
    taken.add(free);
    return free;
  });
}

/** Returns the server's error about a statement, with its position, detail and hint. */
function sqlFailure(error: unknown, text: string, isMissing: boolean): unknown {
  const code = errorCode(error);
  if (!(error instanceof Error) || code === undefined) return error;
  const { position, detail, hint } = error as Details;
  const lines = [
    `${error.message} (${code})`,
    ...(position === undefined ? [] : placeOf(text, Number(position))),
    ...(detail === undefined ? [] : [`detail: ${detail}`]),
    ...(hint === undefined ? [] : [`hint: ${hint}`]),
    ...hintOnNewJob(error, text),
    ...(isMissing ? [`the database has no Millrace schema: run ${MIGRATE}`] : []),
  ];
  return new CommandFailure(EXIT.failed, lines.join('\n'), { cause: error });
}

/** The columns that the role `millrace_app` can set. */
const OF_A_NEW_JOB =
  'job_type, routing_key, payload, priority, max_attempts, run_at, start_by, unique_key, group_key, traceparent, ' +
  'on_dead_letter';
/** The constraints that connect the status with other columns. */
const OF_A_STATUS = /^a (live|finished) job has /;

/** Postgres names the table or the constraint, but not what an insert can contain. */
function hintOnNewJob(error: unknown, text: string): string[] {
  if (!(error instanceof Error) || !/\binsert\s+into\s+millrace\.jobs\b/i.test(text)) return [];
  if (errorCode(error) === '42501' && / jobs\b/.test(error.message)) {
    return [`hint: an application can set ${OF_A_NEW_JOB}`];
  }
  const { constraint } = error as Details;
  const isStatus = constraint !== undefined && OF_A_STATUS.test(constraint);
  return isStatus ? ['hint: a new job is pending: omit status and the columns of attempts'] : [];
}

/** Returns the line of the error and a mark below it. `position` counts code points from 1. */
function placeOf(text: string, position: number): string[] {
  const before = [...text].slice(0, position - 1).join('');
  const number = before.split('\n').length;
  const line = text.split('\n')[number - 1] ?? '';
  const column = [...(before.split('\n').at(-1) ?? '')].length;
  const prefix = `line ${number}: `;
  return [prefix + line.replaceAll('\t', ' '), `${' '.repeat(prefix.length + column)}^`];
}

import { startOf } from '../../core/text.ts';
import { columnsOf, drained, isTerminal, writeLine } from '../../local/screen/writers.ts';
import { align, type Cell, fitted, plain, text } from './table.ts';

/** Writes data, which is all that goes to standard output. */
export function print(text: string): void {
  writeLine('stdout', text);
}

/** Writes data, and waits for a reader that is slower than the source. */
export async function printAll(text: string): Promise<void> {
  if (!writeLine('stdout', text)) await drained();
}

/** A message can quote a stored value: its further lines must not read as messages of their own. */
const MESSAGE_INDENT = 2;

/** Writes a message to standard error: for a person, not for a pipe. */
export function printMessage(text: string): void {
  writeLine('stderr', indented(text, MESSAGE_INDENT));
}

export function printError(text: string): void {
  writeLine('stderr', { style: ['red', 'bold'], text: 'error:' }, ` ${indented(text, MESSAGE_INDENT)}`);
}

export function warn(text: string): void {
  writeLine('stderr', { style: 'yellow', text: 'warning:' }, ` ${indented(text, MESSAGE_INDENT)}`);
}

/** Writes a dimmed message if standard error is a terminal. Respects NO_COLOR. */
export function printHint(text: string): void {
  if (isTerminal('stderr')) writeLine('stderr', { style: 'dim', text });
}

/** A command in which a shell finds nothing but words. */
const PLAIN_COMMAND = /^npx [\w .,:/=-]+$/;

/**
 * Returns whether what to do next can be shown. A command with a value of a database or of an API that a shell would
 * read as more than a word cannot, because the reader may run it unread.
 */
export function canSuggest(next: string): boolean {
  return !next.startsWith('npx ') || PLAIN_COMMAND.test(next);
}

/** Suggests the next command, or what to do, if it can be shown. */
export function suggest(next: string): void {
  if (canSuggest(next)) printHint(`Next: ${next}`);
}

export function isTable(): boolean {
  return isTerminal('stdout');
}

/**
 * Prints rows as an aligned table with headings on a terminal, and tab-separated without headings in a pipe. Replaces
 * control characters in a pipe too, since a row must stay on its line.
 */
export function printRows(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
  printLines(rows, () => align(headings, rows));
}

/** Prints the rows of a list in the same forms, on a terminal fitted to its width. */
export function printTable(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
  printLines(rows, () => fitted(headings, rows, columnsOf('stdout')));
}

function printLines(rows: readonly (readonly Cell[])[], lines: () => readonly string[]): void {
  if (!isTable()) {
    for (const row of rows) print(row.map((cell) => plain(cell)).join('\t'));
    return;
  }
  const [head = '', ...rest] = lines();
  writeLine('stdout', { style: 'bold', text: head });
  for (const line of rest) print(line);
}

/** Prints the same table to standard error before a question; a pipe gets nothing. */
export function printRowsToStderr(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
  if (!isTerminal('stderr') || rows.length === 0) return;
  for (const line of fitted(headings, rows, columnsOf('stderr'))) printMessage(line);
}

const LONGEST_ERROR = 60;
/** The line breaks of every system: an error can quote text from any of them. */
const LINE_BREAK = /\r\n|\r|\n/;

/** Returns the first line of an error, short enough for a table. */
export function firstLine(error: string | null): string {
  const [line = ''] = (error ?? '').split(LINE_BREAK, 1);
  return isTable() && line.length > LONGEST_ERROR ? `${startOf(line, LONGEST_ERROR)}…` : line;
}

/** Prints names and values in two aligned columns, however many lines a value has, or tab-separated in a pipe. */
export function printPairs(pairs: readonly (readonly [string, Cell])[]): void {
  const longest = Math.max(...pairs.map(([name]) => name.length));
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  for (const [name, value] of shown) {
    if (!isTable()) print(`${name}\t${plain(value)}`);
    else writeLine('stdout', { style: 'dim', text: name.padEnd(longest) }, `  ${indented(text(value), longest + 2)}`);
  }
}

/** Indents the further lines of a value, so that none reads as a message, or as another name with its value. */
function indented(value: string, columns: number): string {
  return value.replaceAll(/\r?\n(?!$)/g, `\n${' '.repeat(columns)}`);
}

import { styleText } from 'node:util';

/** Writes data, which is all that goes to standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a message to standard error: for a person, not for a pipe. */
export function printMessage(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function printError(text: string): void {
  printMessage(`${styleText(['red', 'bold'], 'error:', { stream: process.stderr })} ${text}`);
}

export function warn(text: string): void {
  printMessage(`${styleText('yellow', 'warning:', { stream: process.stderr })} ${text}`);
}

/** Writes a dimmed message if standard error is a terminal. Respects NO_COLOR. */
export function printHint(text: string): void {
  if (process.stderr.isTTY) printMessage(styleText('dim', text, { stream: process.stderr }));
}

/** Suggests the next command. */
export function suggest(command: string): void {
  printHint(`Next: ${command}`);
}

export function isTable(): boolean {
  return process.stdout.isTTY === true;
}

type Cell = string | number | Date | null | undefined;

/**
 * Prints rows as an aligned table with headings on a terminal, and tab-separated without headings in a pipe. Replaces
 * control characters, since a stored text could otherwise control the terminal.
 */
export function printRows(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
  if (!isTable()) {
    for (const row of rows) print(row.map((cell) => plain(cell)).join('\t'));
    return;
  }
  const [head = '', ...lines] = align(headings, rows);
  print(styleText('bold', head, { stream: process.stdout }));
  for (const line of lines) print(line);
}

/** Prints the same table to standard error before a question; a pipe gets nothing. */
export function printRowsToStderr(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
  if (process.stderr.isTTY) for (const line of align(headings, rows)) printMessage(line);
}

function align(headings: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const cells = rows.map((row) => row.map((cell) => plain(cell)));
  const widths = headings.map((heading, index) => Math.max(heading.length, ...cells.map((row) => width(row[index]))));
  return [headings, ...cells].map((row) =>
    row
      .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - width(cell)))
      .join('  ')
      .trimEnd(),
  );
}

const LONGEST_ERROR = 60;
/** The line breaks of every system: an error can quote text from any of them. */
const LINE_BREAK = /\r\n|\r|\n/;

/** Returns the first line of an error, short enough for a table. */
export function firstLine(error: string | null): string {
  const [line = ''] = (error ?? '').split(LINE_BREAK, 1);
  return isTable() && line.length > LONGEST_ERROR ? `${line.slice(0, LONGEST_ERROR)}…` : line;
}

/** Prints names and values in two aligned columns, or tab-separated in a pipe. */
export function printPairs(pairs: readonly (readonly [string, Cell])[]): void {
  const longest = Math.max(...pairs.map(([name]) => name.length));
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  for (const [name, value] of shown) {
    if (!isTable()) print(`${name}\t${plain(value)}`);
    else print(`${styleText('dim', name.padEnd(longest), { stream: process.stdout })}  ${visible(text(value))}`);
  }
}

function width(cell: string | undefined): number {
  return [...(cell ?? '')].length;
}

function text(cell: Cell): string {
  if (cell instanceof Date) return cell.toISOString();
  return String(cell ?? '');
}

function plain(cell: Cell): string {
  const escaped = text(cell).replace(/[\t\n\r]/g, (code) => (code === '\t' ? '\\t' : code === '\n' ? '\\n' : '\\r'));
  return visible(escaped);
}

/** Replaces control characters, except line breaks, which become `\n`. */
export function visible(value: string): string {
  return value.replaceAll('\r\n', '\n').replace(/[^\P{Cc}\n]/gu, '\ufffd');
}

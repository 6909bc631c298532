import { styleText } from 'node:util';

/** Data: the only thing that goes to standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Talk: what a person reads and a pipe must not get. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function sayError(text: string): void {
  say(`${styleText(['red', 'bold'], 'error:', { stream: process.stderr })} ${text}`);
}

export function warn(text: string): void {
  say(`${styleText('yellow', 'warning:', { stream: process.stderr })} ${text}`);
}

/** Only for a person who is looking, in grey: NO_COLOR and terminals without colours are respected. */
export function whisper(text: string): void {
  if (process.stderr.isTTY) say(styleText('dim', text, { stream: process.stderr }));
}

/** The command that is likely to be typed next. */
export function suggest(command: string): void {
  whisper(`Next: ${command}`);
}

export function isTable(): boolean {
  return process.stdout.isTTY === true;
}

type Cell = string | number | Date | null | undefined;

/**
 * Rows for a person as an aligned table with headings; for a pipe one line a row with tabs between, without headings.
 * Control characters never get out, since a stored text could otherwise drive the terminal.
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

/** The same table for a person before a question; a pipe gets nothing. */
export function sayRows(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
  if (process.stderr.isTTY) for (const line of align(headings, rows)) say(line);
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

/** The first line of an error, short enough for a table. */
export function firstLine(error: string | null): string {
  const [line = ''] = (error ?? '').split('\n', 1);
  return isTable() && line.length > LONGEST_ERROR ? `${line.slice(0, LONGEST_ERROR)}…` : line;
}

/** Names and values: two aligned columns, or two with a tab between. */
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

/** Without what a terminal would obey; line breaks stay. */
export function visible(value: string): string {
  return value.replace(/[^\P{Cc}\n]/gu, '\ufffd');
}

import { visible } from '../../core/text.ts';
import { isTerminal } from '../../local/screen/writers.ts';

export type Cell = string | number | Date | null | undefined;

const GAP = '  ';
/** Minimum width of a column: a narrower one is unreadable. */
const LEAST_WIDTH = 12;
/** Width that the other columns leave to a text: an error with fewer characters says little. */
const LEAST_TEXT = 30;
/** Width of any other column before columns are omitted for its sake. */
const USUAL_WIDTH = 20;

/** Columns with free text. */
const TEXTS: ReadonlySet<string> = new Set(['ERROR', 'LAST ERROR', 'FILTER', 'MOVABLE', 'SCOPES', 'SUBJECT']);
/** Columns that a narrow terminal does without, the first one first. `--json` and pipes have them all. */
const DISPENSABLE = [
  ...['SHARE', 'TIMEOUT', 'IN DLQ', 'CREATED BY', 'BY', 'RATE', 'FINISHED', 'ATTEMPTS', 'FIRST', 'CREATED'],
  ...['STARTED', 'LAST USED', 'FROM'],
];

/** Aligns rows below their headings. */
export function align(headings: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const cells = [headings, ...rows].map((row) => row.map((cell) => plain(cell)));
  return padded(cells, widthsOf(cells));
}

/**
 * Aligns rows so that they fit a terminal: without empty columns, with short times, and with `…` where text is cut.
 * @param columns width of the terminal; undefined for no limit.
 */
export function fitted(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const all = rows.map((row) => row.map((cell) => plain(cell instanceof Date ? shortTime(cell) : cell)));
  let kept = headings.map((_heading, index) => index).filter((index) => all.some((row) => row[index] !== ''));
  const select = (row: readonly string[]) => kept.map((index) => row[index] ?? '');
  const cellsOf = () => [headings, ...all].map(select);
  const needed = () => widthsOf(cellsOf()).map((own, at) => Math.min(own, isText(at) ? LEAST_TEXT : USUAL_WIDTH));
  const isText = (at: number) => TEXTS.has(headings[kept[at] ?? 0] ?? '');
  for (const heading of DISPENSABLE) {
    if (lineWidth(needed()) > columns) kept = kept.filter((index) => headings[index] !== heading);
  }
  const cells = cellsOf();
  const widths = narrowed(widthsOf(cells), columns, isText);
  return padded(
    cells.map((row) => row.map((cell, index) => cut(cell, widths[index] ?? 0))),
    widths,
  );
}

/** Returns a time without its milliseconds, and without the year or the date if it is the current one. */
export function shortTime(time: Date, now = new Date()): string {
  const [text, today] = [time.toISOString(), now.toISOString()];
  if (text.slice(0, 10) === today.slice(0, 10)) return `${text.slice(11, 19)}Z`;
  return text.slice(0, 4) === today.slice(0, 4) ? `${text.slice(5, 10)} ${text.slice(11, 16)}Z` : text.slice(0, 10);
}

/** Returns a time in a sentence: short on a terminal, complete in a pipe. */
export function timeText(time: Date): string {
  return isTerminal('stdout') ? shortTime(time) : time.toISOString();
}

export function text(cell: Cell): string {
  return cell instanceof Date ? cell.toISOString() : String(cell ?? '');
}

/**
 * Returns a cell on one line, otherwise unchanged, because scripts read it. A cell may therefore begin with `=`, like a
 * formula.
 */
export function plain(cell: Cell): string {
  const escaped = text(cell).replace(/[\t\n\r]/g, (code) => (code === '\t' ? '\\t' : code === '\n' ? '\\n' : '\\r'));
  return visible(escaped);
}

/** Takes what is too much from the texts, then from the widest other column and the next, and then from the texts. */
function narrowed(widths: readonly number[], columns: number, isText: (at: number) => boolean): number[] {
  const narrow = [...widths];
  const byWidth = widths.map((_, at) => at).sort((one, other) => (widths[other] ?? 0) - (widths[one] ?? 0));
  const take = (from: readonly number[], least: number) => {
    for (const index of from) {
      const excess = lineWidth(narrow) - columns;
      const own = narrow[index] ?? 0;
      if (excess > 0 && own > least) narrow[index] = Math.max(least, own - excess);
    }
  };
  const texts = byWidth.filter(isText);
  take(texts, LEAST_TEXT);
  take(
    byWidth.filter((at) => !isText(at)),
    LEAST_WIDTH,
  );
  take(texts, LEAST_WIDTH);
  return narrow;
}

function cut(cell: string, most: number): string {
  const letters = [...cell];
  return letters.length <= most ? cell : `${letters.slice(0, most - 1).join('')}…`;
}

function widthsOf(cells: readonly (readonly string[])[]): number[] {
  return (cells[0] ?? []).map((_heading, index) => Math.max(...cells.map((row) => width(row[index]))));
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1);
}

function padded(cells: readonly (readonly string[])[], widths: readonly number[]): string[] {
  const pad = (cell: string, index: number) => cell + ' '.repeat((widths[index] ?? 0) - width(cell));
  return cells.map((row) => row.map(pad).join(GAP).trimEnd());
}

function width(cell: string | undefined): number {
  return [...(cell ?? '')].length;
}

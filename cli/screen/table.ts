import { visible } from '../../core/text.ts';
import { isTerminal } from '../../local/screen/writers.ts';

export type Cell = string | number | Date | null | undefined;

const GAP = '  ';
/** Minimum width of a column: a narrower one is unreadable. */
const LEAST_WIDTH = 12;

interface Limits {
  /** Columns of the terminal; undefined for no limit. */
  readonly columns: number | undefined;
  /** Headings of the columns to omit on a narrow terminal, in this order. */
  readonly optional: readonly string[];
}

/** Aligns rows below their headings. */
export function align(headings: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const cells = [headings, ...rows].map((row) => row.map((cell) => plain(cell)));
  return padded(cells, widthsOf(cells));
}

/** Aligns rows so that they fit a terminal: without empty columns, with short times, and with `…` where text is cut. */
export function fitted(headings: readonly string[], rows: readonly (readonly Cell[])[], limits: Limits): string[] {
  const { columns = Number.POSITIVE_INFINITY, optional } = limits;
  const all = rows.map((row) => row.map((cell) => plain(cell instanceof Date ? shortTime(cell) : cell)));
  let kept = headings.map((_heading, index) => index).filter((index) => all.some((row) => row[index] !== ''));
  const select = (row: readonly string[]) => kept.map((index) => row[index] ?? '');
  const excess = () => lineWidth(widthsOf([headings, ...all].map(select))) - columns;
  for (const heading of optional) {
    if (excess() > 0) kept = kept.filter((index) => headings[index] !== heading);
  }
  const cells = [headings, ...all].map(select);
  const widths = narrowed(widthsOf(cells), columns);
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

/** Removes the excess width from the widest column, then from the next. */
function narrowed(widths: readonly number[], columns: number): number[] {
  const narrow = [...widths];
  for (const index of widths.map((_, at) => at).sort((one, other) => (widths[other] ?? 0) - (widths[one] ?? 0))) {
    const excess = lineWidth(narrow) - columns;
    const own = narrow[index] ?? 0;
    if (excess > 0 && own > LEAST_WIDTH) narrow[index] = Math.max(LEAST_WIDTH, own - excess);
  }
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

import { errorCode } from '../core/postgres/database.ts';
import { CommandFailure } from './command-failure.ts';
import { EXIT } from './exit-code.ts';
import { isSchemaMissing, MIGRATE } from './target/database-failure.ts';

interface Details {
  readonly position?: string;
  readonly detail?: string;
  readonly hint?: string;
}

/** What the server said of a person's statement, with the place, the details and the hint. */
export function sqlFailure(error: unknown, text: string): unknown {
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

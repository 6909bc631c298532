import { lineAt, type Rule, type SourceFile } from './source-file.ts';

const LINES = 200;
const COLUMNS = 120;

/** Limits the length of a source file. Migrations, generated files and documents are exempt; lint counts functions. */
export const fileLines: Rule = {
  name: 'file lines',
  check: ({ path, text, syntax }) => {
    const lines = text.trimEnd().split('\n').length;
    if (syntax === undefined || lines <= LINES) return [];
    return [{ path, line: LINES + 1, message: `has ${lines} lines; ${LINES} is the limit` }];
  },
};

/** The formatter wraps code at this width, but not comments. A long string may exceed it. */
export const lineColumns: Rule = {
  name: 'line columns',
  check: (file) => {
    if (file.syntax === undefined) return [];
    const quoted = quotedLines(file);
    return file.text.split('\n').flatMap((line, index) => {
      if (line.length <= COLUMNS || quoted.has(index + 1)) return [];
      return [{ path: file.path, line: index + 1, message: `has ${line.length} columns; ${COLUMNS} is the limit` }];
    });
  },
};

/** Returns the lines on which one string, with the closing brackets after it, exceeds the limit. */
function quotedLines({ text, syntax }: SourceFile): Set<number> {
  const crossing = (syntax?.places ?? []).filter(({ node: { type, start, end } }) => {
    if (type !== 'Literal' && type !== 'TemplateLiteral') return false;
    const lineStart = text.lastIndexOf('\n', start) + 1;
    const closing = /^[)\]};,]*/.exec(text.slice(end, end + COLUMNS))?.[0].length ?? 0;
    return end + closing - lineStart > COLUMNS && !text.slice(start, end).includes('\n');
  });
  return new Set(crossing.map(({ node }) => lineAt(text, node.start)));
}

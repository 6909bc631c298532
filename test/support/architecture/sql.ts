import { resolveImports } from './imports.ts';
import { isIn, lineAt, type Rule, type SourceFile } from './source-file.ts';
import { isFilledIn, isNode, nameOf, type Place, textOf } from './syntax.ts';

// `local/sqs` stores its queues in its own SQLite file, not in tables of the engine.
const HOMES = ['core', 'migrations', 'test', 'bench', 'examples', 'local/sqs'];
const OBJECTS = 'table|index|function|database|role|schema|view|type|trigger';

// A text is SQL when its start matches enough of a statement that no English sentence does.
const STATEMENT = new RegExp(
  `^(\\s|--[^\\n]*\\n)*(${[
    'select\\s+(distinct\\s+)?(\\S+\\s+|[^;]*?([,*($:]|\\sas\\s)[^;]*?\\s)?from\\s',
    'select\\s+[\\w.]+\\(',
    'with\\s+(recursive\\s+)?[a-z_]+\\s*(\\([^)]*\\)\\s*)?as\\s+(not\\s+)?(materialized\\s*)?\\(',
    'insert\\s+into\\s+[\\w."…]',
    'update\\s+(only\\s+)?[\\w."…]+(\\s+(as\\s+)?\\w+)?\\s+set\\s',
    'delete\\s+from\\s+[\\w."…]',
    'truncate\\s+(table\\s+)?[a-z_.]+',
    'lock\\s+table\\s',
    'call\\s+[a-z_.]+\\(',
    `(create|alter|drop)\\s+(or\\s+replace\\s+)?(unique\\s+)?(${OBJECTS})\\s`,
  ].join('|')})`,
  'i',
);

interface Statement {
  readonly place: Place;
  readonly text: string;
}

function statementsOf(file: SourceFile): Statement[] {
  return (file.syntax?.places ?? []).flatMap((place) => {
    const text = textOf(place.node);
    return text !== undefined && STATEMENT.test(text) ? [{ place, text }] : [];
  });
}

function rule(name: string, judge: (file: SourceFile, statement: Statement) => string | undefined): Rule {
  return {
    name,
    check: (file) =>
      statementsOf(file).flatMap((statement) => {
        const message = judge(file, statement);
        const line = lineAt(file.text, statement.place.node.start);
        return message === undefined ? [] : [{ path: file.path, line, message }];
      }),
  };
}

/** Only these folders contain SQL. */
export const sqlHome = rule('SQL home', ({ path }) => {
  return isIn(path, HOMES) ? undefined : 'contains SQL; move it to core';
});

/** A statement is constant; its variable parts are parameters. */
export const sqlConstant = rule('SQL is constant', ({ path }, { place }) => {
  return isFilledIn(place.node) && !isIn(path, ['test', 'bench']) ? 'inserts a value into SQL; use $n' : undefined;
});

/** A statement of the engine has a name that describes it, and is in lower case. */
export const sqlNamed = rule('SQL has a name', ({ path }, { place, text }) => {
  if (!isIn(path, ['core'])) return undefined;
  const [parent] = place.parents;
  const name = isNode(parent) && parent.type === 'VariableDeclarator' ? nameOf(parent.id) : undefined;
  if (name === undefined || !/^[A-Z][A-Z0-9_]*$/.test(name)) return 'is SQL outside an UPPER_SNAKE constant';
  const keyword = /[a-z]+/i.exec(text.replace(/--[^\n]*\n/g, ''))?.[0] ?? '';
  return keyword === keyword.toLowerCase() ? undefined : `contains ${keyword}; SQL is in lower case`;
});

const PORT = /^(@aws-sdk\/.*|core\/aws\/((dead-letter-)?queues|functions|deployed)\.ts)$/;

/** A file uses Postgres or AWS, not both, so that a statement can be read and tested without a queue. */
export const sqlApart: Rule = {
  name: 'SQL apart from AWS',
  check: (file) =>
    isIn(file.path, ['core']) && statementsOf(file).length > 0
      ? resolveImports(file)
          .filter(({ to }) => PORT.test(to))
          .map(({ to, line }) => ({ path: file.path, line, message: `contains SQL and imports ${to}` }))
      : [],
};

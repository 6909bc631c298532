import { isIn, lineAt, type Rule } from './source-file.ts';
import { nameOf, type Place, textOf } from './syntax.ts';

// One reader for the settings of the engine, and one for those of a deployment.
const READERS = ['core/config.ts', 'infra/app.ts'];
const GOVERNED = ['core', 'api', 'functions', 'infra', 'local', 'cli'];

function isMember({ node }: Place, object: string, property?: string): boolean {
  if (node.type !== 'MemberExpression' || nameOf(node.object) !== object) return false;
  return property === undefined || (nameOf(node.property) ?? textOf(node.property)) === property;
}

/** Matches `process.env`, `const { env } = process` and `import { env } from 'node:process'`. */
function readsEnvironment(place: Place): boolean {
  const { node, parents } = place;
  const around = parents.find(({ type }) => type === 'VariableDeclarator' || type === 'ImportDeclaration');
  const taken = nameOf(node.key ?? node.imported) === 'env';
  const fromProcess = nameOf(around?.init) === 'process' || /^(node:)?process$/.test(textOf(around?.source) ?? '');
  return isMember(place, 'process', 'env') || (taken && fromProcess);
}

/** Matches `process.env.PATH`, which is not a setting: child processes inherit it. */
function isPath({ parents: [parent] }: Place): boolean {
  return parent?.type === 'MemberExpression' && nameOf(parent.property) === 'PATH';
}

/** One place reads and checks the settings and reports their errors. */
export const environmentReader: Rule = {
  name: 'environment reader',
  check: ({ path, text, syntax }) =>
    (isIn(path, GOVERNED) && !READERS.includes(path) ? (syntax?.places ?? []) : [])
      .filter((place) => readsEnvironment(place) && !(isIn(path, ['local', 'cli']) && isPath(place)))
      .map(({ node }) => ({ path, line: lineAt(text, node.start), message: 'reads the environment' })),
};

const TERMINAL = ['cli', 'local/screen'];
const WRITERS = 'local/screen/writers.ts';

/** Matches `process.stdout`, `const { stdout } = process`, `import { stderr } from 'node:process'` and `console`. */
function reachesTerminal(place: Place): boolean {
  const { node, parents } = place;
  if (isMember(place, 'console') || isMember(place, 'process', 'stdout') || isMember(place, 'process', 'stderr')) {
    return true;
  }
  const around = parents.find(({ type }) => type === 'VariableDeclarator' || type === 'ImportDeclaration');
  const fromProcess = nameOf(around?.init) === 'process' || /^(node:)?process$/.test(textOf(around?.source) ?? '');
  return fromProcess && /^std(out|err)$/.test(nameOf(node.key ?? node.imported) ?? '');
}

/** One file cleans and writes what a person at a terminal reads, since stored text could control the terminal. */
export const terminalWriter: Rule = {
  name: 'terminal writer',
  check: ({ path, text, syntax }) => {
    const governed = (isIn(path, TERMINAL) || path === 'local/up.ts') && path !== WRITERS;
    return (governed ? (syntax?.places ?? []) : [])
      .filter(reachesTerminal)
      .map(({ node }) => ({ path, line: lineAt(text, node.start), message: `writes to the terminal; use ${WRITERS}` }));
  },
};

/** The engine writes only log lines, each a line of JSON. */
export const consoleWriter: Rule = {
  name: 'console writer',
  check: ({ path, text, syntax }) =>
    (isIn(path, ['core', 'api', 'functions']) && path !== 'core/log.ts' ? (syntax?.places ?? []) : [])
      .filter((place) => isMember(place, 'console'))
      .map(({ node }) => ({ path, line: lineAt(text, node.start), message: 'writes to the console; use core/log.ts' })),
};

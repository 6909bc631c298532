import { isIn, lineAt, type Rule, type SourceFile } from './source-file.ts';
import { nameOf, type Place, type Text, textOf } from './syntax.ts';

const GOVERNED = ['core', 'api', 'functions', 'infra'];
// `set local` ends with the transaction, no router forwards a link-local address, and AsyncLocalStorage is Node's.
const UNRELATED = /\b(set\s+|link[\s-]|async\s+)local\b/gi;
const MODE = /\b(local|emulators?|emulated|localstack|elasticmq|ministack|tests?|vitest)\b/i;

/** The product does not depend on where it runs, except for addresses, so it does not use the words for it. */
export const modeWords: Rule = {
  name: 'mode words',
  check: (file) =>
    (isIn(file.path, GOVERNED) ? wordsOf(file) : []).flatMap(({ value, start }) => {
      const word = MODE.exec(value.replace(UNRELATED, ''))?.[0];
      return word === undefined
        ? []
        : [
            {
              path: file.path,
              line: lineAt(file.text, start),
              message: `contains "${word}"; the product must not depend on where it runs`,
            },
          ];
    }),
};

function wordsOf({ path, syntax }: SourceFile): Text[] {
  const places = syntax?.places ?? [];
  return [
    { value: path.replaceAll('/', ' '), start: 0 },
    ...(syntax?.comments ?? []),
    ...places.flatMap((place) => said(place)),
  ];
}

function said(place: Place): Text[] {
  const { node } = place;
  const name = isMatching(place) ? undefined : nameOf(node);
  const words = textOf(node) ?? name?.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll('_', ' ');
  return words === undefined ? [] : [{ value: words, start: node.start }];
}

/** `/pattern/.test(text)` */
function isMatching({ node, parents: [parent] }: Place): boolean {
  return parent?.type === 'MemberExpression' && parent.property === node && nameOf(node) === 'test';
}

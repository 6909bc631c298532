import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTree, type SourceFile } from '../support/architecture/source-file.ts';
import { textOf } from '../support/architecture/syntax.ts';
import { ROOT } from './documents.ts';

/** Banned phrases, each with its replacements. */
const TURNS: readonly [turn: RegExp, instead: string][] = [
  [/\bthat there (is|are)\b/i, 'existing, known; or name it'],
  [/\b(is|are|was) none\b/i, 'unknown, missing, or no X'],
  [/\bis like that\b/i, 'matches'],
  [/\banew\b/i, 'again, from scratch'],
  [/\bwhoever\b/i, 'name the actor'],
  [/\bsome(body|one)\b/i, 'name the actor: another transaction, an operator, the caller'],
  [/\b(nobody|no one)\b/i, 'name the actor, or no X'],
  [/\b(tell|tells|told|telling) of\b/i, 'document, report'],
  [/\b(hold|holds|held) [^.]{1,30} against\b/i, 'compare with'],
  [/\bdoes not hold\b/i, 'is invalid, does not apply'],
  [/\bin the place of\b/i, 'instead of'],
  [/\blikewise\b/i, 'also'],
  [/\bfor ever\b/i, 'permanently, never deleted'],
  [/\b(give|gives|gave|given|giving) back\b/i, 'release, return, make visible'],
  [/\b(its|the) last words\b/i, 'say what is written'],
  [/\banother (\w+ ){1,3}than\b/i, 'a different X from'],
  [
    /(?<!\bthere )\b(is|are|was|were) no (?!longer|more|less|such|different|larger|smaller|later|earlier|other)\w+\b/i,
    'is not a, or there is no',
  ],
  [/\b(is|are) due since\b/i, 'has been due for'],
  [/\bso many\b/i, 'that number of'],
];

const RULED = /^(core|api|functions|infra|local|cli|bench|migrations|test|docs|examples|\.ci)\/|^[A-Z]+\.md$/;
/** This file, the definitions of words, and the name of a Linux account. */
const EXEMPT = ['test/docs/language.test.ts', 'docs/glossary.md', 'local/postgres/owner.ts'];

interface Line {
  readonly place: string;
  readonly text: string;
}

/** Returns the comments and strings of code, and the lines of documents and SQL comments. */
function proseOf({ path, text, syntax }: SourceFile): Line[] {
  if (syntax === undefined) {
    const lines = text.split('\n').map((line, index) => ({ place: `${path}:${index + 1}`, text: line }));
    return path.endsWith('.sql') ? lines.filter((line) => line.text.includes('--')) : lines;
  }
  const texts = syntax.places.flatMap(({ node }) => {
    const value = textOf(node);
    return value === undefined ? [] : [{ value, start: node.start }];
  });
  return [...syntax.comments, ...texts].map(({ value, start }) => ({
    place: `${path}:${text.slice(0, start).split('\n').length}`,
    text: value,
  }));
}

const tree = readTree(ROOT).filter(({ path }) => RULED.test(path) && !EXEMPT.includes(path) && !path.endsWith('.json'));
const prose = tree.flatMap(proseOf);

it.each(TURNS)('no text contains %s; write: %s', (turn) => {
  const found = prose.filter(({ text }) => turn.test(text));

  expect(found.map(({ place, text }) => `${place} ${turn.exec(text)?.[0]}`)).toEqual([]);
});

it('the language rules read documents, code and migrations', () => {
  const places = prose.map(({ place }) => place);

  expect(places.length).toBeGreaterThan(10_000);
  for (const start of ['README.md:', 'docs/', 'core/', 'cli/', 'migrations/', 'test/']) {
    expect(places.some((place) => place.startsWith(start))).toBe(true);
  }
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8').length).toBeGreaterThan(0);
});

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { inlineCode, prose, ROOT, readDocument, readDocuments, readExamples } from './documents.ts';

const documents = readDocuments();

/** Returns the anchor that GitHub derives from a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

function anchorsOf(path: string): string[] {
  return [...prose(readDocument(path)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchor(heading as string));
}

it.each([...documents, ...readExamples()])('$path has no dead link', (document) => {
  const links = [...prose(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string);
  const own = links.filter((link) => !/^https?:/.test(link));

  const dead = own.filter((link) => {
    const [file = '', fragment] = link.split('#');
    const path = file === '' ? document.path : join(dirname(document.path), file);
    if (!existsSync(join(ROOT, path))) return true;
    return fragment !== undefined && !anchorsOf(path).includes(fragment);
  });

  expect(dead).toEqual([]);
});

it('the index of decisions links every decision', () => {
  const index = readDocument('docs/decisions/README.md').text;
  const pages = documents.filter(({ path }) => /^docs\/decisions\/\d{4}-/.test(path));

  const unlinked = pages.filter(({ path }) => !index.includes(`(${path.split('/').at(-1)})`));

  expect(pages.length).toBeGreaterThan(3);
  expect(unlinked).toEqual([]);
});

it('every decision has a unique number, the same in its file name and heading', () => {
  const pages = documents.filter(({ path }) => /^docs\/decisions\/\d{4}-/.test(path));
  const numbers = pages.map(({ path }) => /(\d{4})-/.exec(path)?.[1] ?? '');

  const unlike = pages.filter(({ text }, index) => !text.startsWith(`# ${numbers[index]}`));

  expect(new Set(numbers).size).toBe(numbers.length);
  expect(unlike).toEqual([]);
});

/** Folders from which documents give paths. */
const HOMES = ['', 'core'];
/** A file that the reader writes, and names of packages. */
const NOT_HERE = ['functions/handlers/charge-card.ts', 'zod/mini', 'millrace/cdk', 'millrace/testing'];

it.each(documents)('$path names only files and folders that exist', (document) => {
  const paths = inlineCode(document).filter((code) => /^[a-z]+\/[\w./-]*$/.test(code) && !NOT_HERE.includes(code));

  const missing = paths.filter((path) => !HOMES.some((home) => existsSync(join(ROOT, home, path))));

  expect(missing).toEqual([]);
});

it.each(documents)('$path wraps its prose at 120 columns', (document) => {
  const lines = prose(document).split('\n');

  const long = lines.filter((line) => line.length > 120 && !line.startsWith('|'));

  expect(long).toEqual([]);
});

it('the README shows the first command and the first code near its top', () => {
  const { blocks } = readDocument('README.md');

  const lines = blocks.map(({ language, line }) => [language, line] as const);

  expect(lines.find(([language]) => language === 'sh')?.[1]).toBeLessThan(25);
  expect(lines.find(([language]) => language === 'ts')?.[1]).toBeLessThanOrEqual(44);
});

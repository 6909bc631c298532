import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = new URL('../../', import.meta.url).pathname;

/** A fenced block of a document. */
export interface Block {
  /** `''` for a block without a language. */
  readonly language: string;
  readonly code: string;
  /** Place of the first line, such as `README.md:27`. */
  readonly place: string;
  readonly line: number;
}

export interface Document {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

/** Returns every Markdown document of the repository, the README first. */
export function readDocuments(): Document[] {
  const top = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
  const below = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file));
  return [...top, ...below.sort()].map(readDocument);
}

/** Returns the README of each example. */
export function readExamples(): Document[] {
  const folders = readdirSync(join(ROOT, 'examples'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => readDocument(`examples/${name}/README.md`));
}

export function readDocument(path: string): Document {
  return toDocument(path, readFileSync(join(ROOT, path), 'utf8'), 0);
}

/** Returns the text below a heading, up to the next one of the same level. */
export function section({ path, text }: Document, heading: string): Document {
  const [before, after] = text.split(`\n## ${heading}\n`);
  if (before === undefined || after === undefined) throw new Error(`${path} has no heading "${heading}"`);
  const [own = ''] = after.split('\n## ');
  return toDocument(path, own, before.split('\n').length + 1);
}

/** Splits a text into its blocks. `skipped` is the number of lines of the file before the text. */
function toDocument(path: string, text: string, skipped: number): Document {
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => {
    const line = skipped + text.slice(0, match.index).split('\n').length + 1;
    return { language: match[1] ?? '', code: match[2] ?? '', place: `${path}:${line}`, line };
  });
  return { path, text, blocks };
}

/** Returns the text of a document without its fenced blocks. */
export function prose({ text }: Document): string {
  return text.replace(/^```\w*\n[\s\S]*?^```$/gm, '');
}

/** Returns the code between backticks in the prose. */
export function inlineCode(document: Document): string[] {
  return [...prose(document).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code as string);
}

/** Returns the lines of all `sh` blocks, without their comments. */
export function commandLines({ blocks }: Document): string[] {
  return blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ code }) => code.split('\n'))
    .map((line) => line.replace(/\s+# .*$/, '').trim())
    .filter((line) => line !== '');
}

/** Returns the body rows of the table below a heading, each as its unparsed cells. */
export function tableBelow(document: Document, heading: string): string[][] {
  const lines = section(document, heading).text.split('\n');
  const start = lines.findIndex((line) => line.startsWith('|---'));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  return lines.slice(start + 1, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseResult, type Result } from '../result.ts';
import { UsageError } from '../usage-error.ts';
import { drawPlots } from './plots.ts';
import { resultSections } from './sections.ts';

/** Between these lines is what a measurement replaces; the rest of the page is written by its authors. */
const [BEGIN, END] = ['<!-- results: npm run bench -- --page writes them -->', '<!-- end of the results -->'];
const DOCS = resolve(import.meta.dirname, '../../docs');

/** Writes the results of a measurement into docs/performance.md, and its plots beside it. */
export async function makePage(file: string, print: (text: string) => void): Promise<void> {
  const json = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`--page: expected the file of a result that --json wrote, got ${file}`, { cause });
  });
  const result = parseResult(file, json);
  const page = join(DOCS, 'performance.md');
  const text = withResults(await readFile(page, 'utf8'), result);
  const plots = drawPlots(result);
  const folder = join(DOCS, 'performance');
  // A plot of an earlier result would belong to no table.
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  for (const [name, svg] of plots) await writeFile(join(folder, name), svg);
  await writeFile(page, text);
  print(`wrote docs/performance.md and ${plots.size} plots in docs/performance`);
}

/** Returns the page with the results of this measurement instead of earlier ones. */
export function withResults(page: string, result: Result): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`docs/performance.md: expected the lines ${BEGIN} and ${END}`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${resultSections(result)}\n\n${page.slice(end)}`;
}

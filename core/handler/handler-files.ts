import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { CatalogFailure } from './catalog-failure.ts';

const DEFINES = /\bdefineHandler\s*\(/;
const IS_SOURCE = /(?<!\.d)\.[cm]?[jt]s$/;
const IS_SPEC = /\.(test|spec)\.[cm]?[jt]sx?$/;

/** Lists the handler files of a folder: the `.ts` files, and the other sources that define a handler. */
export async function listFiles(folder: string): Promise<string[]> {
  const sources = (await readdir(folder)).filter((file) => IS_SOURCE.test(file) && !IS_SPEC.test(file)).sort();
  const texts = sources.map((file) => (file.endsWith('.ts') ? undefined : readFile(resolve(folder, file), 'utf8')));
  const read = await Promise.all(texts);
  return sources.filter((_file, index) => DEFINES.test(read[index] ?? 'defineHandler('));
}

/** Finds files that define a handler but are not loaded, for example in a subfolder. */
export async function findMisplaced(folder: string): Promise<CatalogFailure[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const others = found
    .filter((entry) => entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name) && !/\.d\.[cm]?ts$/.test(entry.name))
    .map(({ parentPath, name }) => resolve(parentPath, name))
    .filter((file) => !file.includes('/node_modules/') && !IS_SPEC.test(file))
    .filter((file) => !IS_SOURCE.test(file) || dirname(file) !== resolve(folder));
  const texts = await Promise.all(others.sort().map(async (file) => ({ file, text: await readFile(file, 'utf8') })));
  return texts
    .filter(({ text }) => DEFINES.test(text))
    .map(({ file }) => ({
      file,
      message: 'is ignored: a handler must be a .ts or .js file directly in the handlers folder',
    }));
}

/** Returns the name of a source without its suffix, such as `send-reminder`. */
export function stemOf(file: string): string {
  return basename(file).replace(IS_SOURCE, '');
}

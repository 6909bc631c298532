import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, relative, resolve, sep } from 'node:path';
import type { CatalogFailure } from './catalog-failure.ts';

const DEFINES = /\bdefineHandler\s*\(/;
/** What a handler in another form contains. Beside the handlers, such a file is hardly anything else. */
const RESEMBLES = /\bjobType\s*:/;
const IS_SOURCE = /(?<!\.d)\.[cm]?[jt]s$/;
const IS_SPEC = /\.(test|spec)\.[cm]?[jt]sx?$/;

/**
 * Lists the handler files of a folder: the `.ts` files, and the other sources that define a handler. A source that
 * cannot be read counts, so that its import states why.
 */
export async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const sources = entries
    .filter((entry) => entry.name.endsWith('.ts') || !entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => !isForeign(name) && IS_SOURCE.test(name) && !IS_SPEC.test(name))
    .sort();
  const texts = await Promise.all(
    sources.map((name) => (name.endsWith('.ts') ? undefined : read(resolve(folder, name)))),
  );
  return sources.filter((_name, index) => DEFINES.test(texts[index] ?? 'defineHandler('));
}

function read(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}

/** Finds files that define a handler but are not loaded, for example in a subfolder. */
export async function findMisplaced(folder: string): Promise<CatalogFailure[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const others = found
    .filter(({ name }) => /\.[cm]?[jt]sx?$/.test(name) && !/\.d\.[cm]?ts$/.test(name) && !IS_SPEC.test(name))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => resolve(parentPath, name))
    .filter((file) => !relative(folder, file).split(sep).some(isForeign))
    .filter((file) => !(file.endsWith('.ts') && dirname(file) === resolve(folder)));
  const reasons = others.sort().map(async (file) => {
    const message = reason(dirname(file) === resolve(folder), file, (await read(file)) ?? '');
    return message === undefined ? [] : [{ file, message }];
  });
  return (await Promise.all(reasons)).flat();
}

function reason(isBeside: boolean, file: string, text: string): string | undefined {
  if (isBeside && IS_SOURCE.test(file)) {
    return !DEFINES.test(text) && RESEMBLES.test(text)
      ? 'is ignored: create its default export with defineHandler'
      : undefined;
  }
  if (!DEFINES.test(text) && !(isBeside && RESEMBLES.test(text))) return undefined;
  return 'is ignored: a handler must be a file directly in the handlers folder, with .ts, .js, .mts, .cts, .mjs or .cjs';
}

/** Returns the name of a source without its suffix, such as `send-reminder`. */
export function stemOf(file: string): string {
  return basename(file).replace(IS_SOURCE, '');
}

/** Returns the name of the handler that a file must define, such as `send_reminder`. */
export function nameOfFile(file: string): string {
  return stemOf(file).replaceAll('-', '_');
}

/**
 * Returns whether the author of a handler did not choose the name of a file or folder: installed packages, and
 * hidden files such as the locks of Emacs (`.#a.ts`) and the attributes that macOS writes (`._a.ts`).
 */
export function isForeign(name: string): boolean {
  return name === 'node_modules' || name.startsWith('.');
}

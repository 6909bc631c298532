import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A folder with one of these is the root of a project. */
const ROOTS = ['package.json', '.git'];

/**
 * Returns the options of esbuild that name the nearest tsconfig.json above a source, up to the root of its project, or
 * none. By itself, esbuild searches up to the root of the disk: in /tmp, any account can put one there, whose `paths`
 * replace packages.
 */
export function tsconfigOf(source: string): { tsconfig: string } | { tsconfigRaw: string } {
  let found: string | undefined;
  for (let folder = dirname(source); ; folder = dirname(folder)) {
    const file = join(folder, 'tsconfig.json');
    if (existsSync(file)) found ??= file;
    if (ROOTS.some((name) => existsSync(join(folder, name)))) break;
    if (folder === dirname(folder)) return { tsconfigRaw: '{}' };
  }
  return found === undefined ? { tsconfigRaw: '{}' } : { tsconfig: found };
}

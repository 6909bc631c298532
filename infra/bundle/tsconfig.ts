import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isProjectRoot } from '../../core/project-root.ts';

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
    if (isProjectRoot(folder)) break;
    if (folder === dirname(folder)) return { tsconfigRaw: '{}' };
  }
  return found === undefined ? { tsconfigRaw: '{}' } : { tsconfig: found };
}

/** Returns the root of the project that contains a source; the root of the disk without a project. */
export function projectOf(source: string): string {
  let folder = dirname(source);
  while (!isProjectRoot(folder) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/** Returns the folder from which the source map of a function names sources, given its module and its own source. */
export function rootOf(module: string, source: string): string {
  const project = projectOf(source);
  return module.startsWith(`${project}/`) ? project : projectOf(module);
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A folder with one of these is the root of a project. */
const ROOTS = ['package.json', '.git'];

/** Returns whether a folder is the root of a project: what is above it belongs to other projects or other accounts. */
export function isProjectRoot(folder: string): boolean {
  return ROOTS.some((name) => existsSync(join(folder, name)));
}

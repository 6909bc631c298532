import { dirname, join, resolve } from 'node:path';
import { isProjectRoot } from '../core/project-root.ts';
import { accessListFault, judge, refuse } from './trust.ts';

export interface FoundAbove {
  /** The folder in which `what` was found. */
  readonly folder: string;
  readonly path: string;
  /** Whether the folder is the root of a project, with a package.json or a repository. */
  readonly isProject: boolean;
}

/**
 * Returns the nearest `what`, a relative path, in a folder or above it, up to the root of the project: folders above
 * the root belong to other projects or, as in /tmp, to any account.
 * @throws UntrustedError if another account could have written it
 */
export function findAbove(from: string, what: string): FoundAbove | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const isProject = isProjectRoot(folder);
    if (isPresent(folder, what)) return { folder, path: join(folder, what), isProject };
    if (isProject || folder === dirname(folder)) return undefined;
  }
}

/**
 * Returns whether a folder contains `what`.
 * @throws UntrustedError if it does, and another account could have written it, the folder, or one on the path to it
 */
function isPresent(folder: string, what: string): boolean {
  const names = what.split('/');
  const paths = names.map((_, index) => join(folder, ...names.slice(0, index + 1)));
  const found = [folder, ...paths].map((path) => ({ path, ...judge(path) }));
  const missing = found.slice(1).find(({ stats }) => stats === undefined);
  if (missing !== undefined && missing.fault === undefined) return false;
  refuse(found.find(({ fault }) => fault !== undefined)?.fault ?? accessListFault(found));
  return true;
}

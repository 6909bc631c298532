import { existsSync, lstatSync, type Stats, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { optionalSetting } from '../core/config.ts';
import { accountName } from './ownership.ts';

export interface FoundAbove {
  /** The folder in which `what` was found. */
  readonly folder: string;
  readonly path: string;
  /** Whether the folder is the root of a project, with a package.json or a repository. */
  readonly isProject: boolean;
}

/** The error for a file that another account on the machine could have written, or that this account cannot read. */
export class UntrustedError extends Error {
  override readonly name = 'UntrustedError';
}

const ROOTS = ['package.json', '.git'];

/**
 * Returns the nearest `what`, a relative path, in a folder or above it, up to the root of the project: folders above
 * the root belong to other projects or, as in /tmp, to any account.
 * @throws UntrustedError if another account could have written it
 */
export function findAbove(from: string, what: string): FoundAbove | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const isProject = ROOTS.some((name) => existsSync(join(folder, name)));
    if (isPresent(folder, what)) return { folder, path: join(folder, what), isProject };
    if (isProject || folder === dirname(folder)) return undefined;
  }
}

/**
 * Returns whether a folder contains `what`.
 * @throws UntrustedError if it does, and another account could have written it or a folder on the path to it
 */
export function isPresent(folder: string, what: string): boolean {
  let fault: string | undefined;
  let path = folder;
  for (const name of what.split('/')) {
    path = join(path, name);
    try {
      // Both a link and its target must belong to a trusted account.
      const found = faultOf(path, lstatSync(path)) ?? faultOf(path, statSync(path));
      fault ??= found;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return false;
      throw new UntrustedError(fault ?? message, { cause: error });
    }
  }
  if (fault !== undefined) throw new UntrustedError(fault);
  return true;
}

function faultOf(path: string, stats: Stats): string | undefined {
  if (!trusted().includes(stats.uid)) {
    const owner = accountName(stats.uid);
    return `${path} belongs to ${owner}, so it is not used: run as ${owner}, or change its owner if you trust it`;
  }
  const isWritable = !stats.isSymbolicLink() && (stats.mode & 0o002) !== 0;
  return isWritable ? `every user can change ${path}, so it is not used: run chmod o-w ${path}` : undefined;
}

/** Returns the accounts whose files are trusted: root, the current account, and the account that ran sudo. */
function trusted(): number[] {
  const own = process.getuid?.() ?? 0;
  const sudo = own === 0 ? optionalSetting('SUDO_UID') : undefined;
  return [0, own, ...(sudo === undefined ? [] : [Number(sudo)])];
}

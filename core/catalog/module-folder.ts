import { existsSync, lstatSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const PREFIX = '.millrace-handlers-';
const ALL_CAN_WRITE = 0o002;

/**
 * Creates a folder for compiled handlers, which the caller removes. It is in the nearest `node_modules` at or above
 * `from`, where an import finds the same packages as from the source. The folder for temporary files is used only if no
 * `node_modules` can be written: every account can put packages beside it, which an import of a package that the
 * project does not have would find.
 * @throws Error that names what another account has put there.
 */
export function createModuleFolder(from: string, temporary: string = tmpdir()): string {
  for (const folder of withParents(from)) {
    const packages = join(folder, 'node_modules');
    const made = isOurs(packages) ? tryCreate(packages) : undefined;
    if (made !== undefined) return made;
  }
  const names = withParents(temporary).flatMap((folder) =>
    ['node_modules', 'package.json'].map((n) => join(folder, n)),
  );
  const foreign = names.find((path) => existsSync(path) && !isOurs(path));
  if (foreign === undefined) return mkdtempSync(join(temporary, PREFIX));
  throw new Error(
    `other accounts can change ${foreign}, which handlers compiled in ${temporary} could import: ` +
      'point TMPDIR to a folder of your own',
  );
}

function withParents(folder: string): string[] {
  const path = resolve(folder);
  return path === dirname(path) ? [path] : [path, ...withParents(dirname(path))];
}

/** Returns whether a path exists, and only root and this account can have created it and its target. */
function isOurs(path: string): boolean {
  try {
    const stats = [lstatSync(path), statSync(path)];
    if (process.getuid === undefined) return true;
    const accounts = [0, process.getuid()];
    const isOpen = ((stats[1]?.mode ?? 0) & ALL_CAN_WRITE) !== 0;
    return !isOpen && stats.every(({ uid }) => accounts.includes(uid));
  } catch {
    return false;
  }
}

/** Returns undefined if the folder cannot be written. */
function tryCreate(folder: string): string | undefined {
  try {
    return mkdtempSync(join(folder, PREFIX));
  } catch {
    return undefined;
  }
}

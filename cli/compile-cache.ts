import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const OTHERS = 0o077;
const ALL_CAN_WRITE = 0o002;
const STICKY = 0o1000;

/**
 * Returns the folder of this account for compiled code; undefined without a folder that is safe to use. Node's own
 * folder is not: on a shared machine, any account can create it, and Node runs the compiled code that it finds there.
 * @param parent the folder for temporary files
 */
export function compileCache(parent: string = tmpdir()): string | undefined {
  const account = process.getuid?.();
  if (account === undefined) return undefined;
  const folder = join(parent, `millrace-compile-cache-${account}`);
  try {
    // Its owner can replace a folder of this account, and so can all accounts without the sticky bit.
    const { mode, uid } = statSync(parent);
    const isOpen = (mode & ALL_CAN_WRITE) !== 0 && (mode & STICKY) === 0;
    if (isOpen || (uid !== 0 && uid !== account)) return undefined;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === account && (found.mode & OTHERS) === 0 ? folder : undefined;
  } catch {
    // A missing or read-only folder for temporary files, or a file with this name.
    return undefined;
  }
}

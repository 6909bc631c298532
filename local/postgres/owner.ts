import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The account that the server runs as. */
export interface Owner {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Postgres refuses to run as root. Root steps down to the owner of an existing data folder, else to `postgres`, else to
 * `nobody`; it must be an account of this machine, since Postgres looks its name up. Undefined: not root, run as is.
 */
export async function chooseOwner(folder: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = parseAccounts(await readFile('/etc/passwd', 'utf8'));
  const present = await stat(folder).catch(() => undefined);
  const owner =
    accounts.find(({ uid }) => uid !== 0 && uid === present?.uid) ??
    accounts.find(({ name }) => name === 'postgres') ??
    accounts.find(({ name }) => name === 'nobody');
  if (owner !== undefined) return owner;
  throw new Error('Postgres cannot run as root and there is no user postgres or nobody: start as an ordinary user.');
}

function parseAccounts(passwd: string): Owner[] {
  return passwd.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/** Throws one sentence when `owner` cannot get to `path`: typically a project under root's home, which is closed. */
export async function assertReachable(path: string, owner: Owner): Promise<void> {
  for (let folder = await realpath(path); ; folder = dirname(folder)) {
    const { mode, uid, gid } = await stat(folder);
    const shift = uid === owner.uid ? 6 : gid === owner.gid ? 3 : 0;
    if (((mode >> shift) & 1) === 0) {
      throw new Error(
        `Postgres runs as the user ${owner.name} (it refuses root), who cannot enter ${folder}: move the project out of ` +
          `it, start as an ordinary user, or set DATABASE_URL to a Postgres of your own.`,
      );
    }
    if (folder === dirname(folder)) return;
  }
}

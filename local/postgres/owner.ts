import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The account under which the server runs. */
export interface Owner {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Chooses the account for a server started by root, because Postgres refuses to run as root: the owner of an existing
 * data folder, else `postgres`, else the account `nobody`. Postgres looks up its name, so it must be an account of this
 * machine. Undefined if this process does not run as root.
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
  throw new Error(
    'Postgres cannot run as root, and the users postgres and nobody do not exist: start as another user.',
  );
}

function parseAccounts(passwd: string): Owner[] {
  return passwd.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

/** Throws if `owner` cannot access `path`, for example a project in root's home folder. */
export async function assertReachable(path: string, owner: Owner): Promise<void> {
  for (let folder = await realpath(path); ; folder = dirname(folder)) {
    const { mode, uid, gid } = await stat(folder);
    const shift = uid === owner.uid ? 6 : gid === owner.gid ? 3 : 0;
    if (((mode >> shift) & 1) === 0) {
      throw new Error(
        `Postgres runs as the user ${owner.name} (it refuses root), which cannot access ${folder}: move the project ` +
          `out of it, start as another user, or set DATABASE_URL to another Postgres.`,
      );
    }
    if (folder === dirname(folder)) return;
  }
}

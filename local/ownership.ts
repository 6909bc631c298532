import { readFileSync } from 'node:fs';

/** Returns the name of an account for use in messages, such as `root` or `user 1000`. */
export function accountName(uid: number): string {
  return uid === 0 ? 'root' : (findName('/etc/passwd', uid) ?? `user ${uid}`);
}

/** Returns the name of a group for messages, such as `staff` or `1000`. */
export function groupName(gid: number): string {
  return findName('/etc/group', gid) ?? String(gid);
}

function findName(file: string, id: number): string | undefined {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.map((line) => line.split(':')).find(([, , field]) => field === String(id))?.[0] || undefined;
  } catch {
    return undefined;
  }
}

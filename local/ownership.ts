import { readFileSync } from 'node:fs';

/** Returns the name of an account for use in messages, such as `root` or `user 1000`. */
export function accountName(uid: number): string {
  if (uid === 0) return 'root';
  try {
    const accounts = readFileSync('/etc/passwd', 'utf8').split('\n');
    const found = accounts.map((line) => line.split(':')).find(([, , id]) => id === String(uid));
    return found?.[0] || `user ${uid}`;
  } catch {
    return `user ${uid}`;
  }
}

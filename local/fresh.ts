import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { endLeftovers } from './postgres/leftovers.ts';

/** Throws away what earlier starts left in `data`, save the files whose name begins with `keep`. */
export async function clear(data: string, keep: string): Promise<void> {
  // A database whose starter was killed this moment may still write.
  await endLeftovers(join(data, 'postgres')).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  const entries = await readdir(data);
  for (const entry of entries.filter((name) => !name.startsWith(keep))) {
    await rm(join(data, entry), { recursive: true, force: true });
  }
}

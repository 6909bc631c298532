import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const MARK = '.stopped';

/** Makes the mailbox refuse every connection with 421, even after a restart, until `startAgain`. */
export async function stopMailbox(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, MARK), '');
}

/** Makes the mailbox accept emails again. Does nothing if it was not stopped. */
export async function startAgain(folder: string): Promise<void> {
  await rm(join(folder, MARK), { force: true });
}

export async function isStopped(folder: string): Promise<boolean> {
  return access(join(folder, MARK)).then(
    () => true,
    () => false,
  );
}

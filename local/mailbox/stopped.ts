import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const MARK = '.stopped';

/** From now on every connection is refused with 421, also after a restart, until `startAgain`. */
export async function stopMailbox(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, MARK), '');
}

/** Mails are taken again. Nothing happens when the mailbox was not stopped. */
export async function startAgain(folder: string): Promise<void> {
  await rm(join(folder, MARK), { force: true });
}

export async function isStopped(folder: string): Promise<boolean> {
  return access(join(folder, MARK)).then(
    () => true,
    () => false,
  );
}

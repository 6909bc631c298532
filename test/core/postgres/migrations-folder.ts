import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../support/temporary-folder.ts';

export const SHIPPED = new URL('../../../migrations', import.meta.url).pathname;

/** A copy of the migrations folder with further files, such as a later release has. */
export async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder();
  await cp(SHIPPED, folder, { recursive: true });
  for (const [name, sql] of Object.entries(files)) await writeFile(join(folder, name), sql);
  return folder;
}

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withoutPassword } from '../screen/without-password.ts';

/**
 * Records the database that `--database-url` named, in the data folder of a project. Prints a line at the first start
 * without the option: its database has none of the jobs.
 */
export async function compareWithLastDatabase(
  data: string,
  databaseUrl: string | undefined,
  printLine: (line: string) => void,
): Promise<void> {
  const path = join(data, 'last-database');
  if (databaseUrl !== undefined) return writeFile(path, withoutPassword(databaseUrl), { mode: 0o600 });
  const last = await readFile(path, 'utf8').catch(() => undefined);
  if (last === undefined) return;
  printLine(`the last start in this folder used --database-url ${last}: this one has a Postgres and jobs of its own`);
  await rm(path);
}

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';

/**
 * Reads the variables of the project's handlers from the `.env` file beside its package.json, if it exists. Prints a
 * line if other accounts of the machine can read the file.
 */
export async function readDotEnv(project: string, printLine: (line: string) => void): Promise<Record<string, string>> {
  const path = join(project, '.env');
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return {};
  const { mode } = await stat(path);
  if ((mode & 0o044) !== 0) printLine(`other users of this machine can read ${path}: run chmod 600 .env`);
  return Object.fromEntries(Object.entries(parseEnv(text)).filter((pair): pair is [string, string] => !!pair[1]));
}

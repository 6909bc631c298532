import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { withoutMark } from '../../core/text.ts';

/**
 * Returns a function that reads the variables of the project's handlers from the `.env` file beside its package.json,
 * if it exists. If other users on the machine can read the file, the function prints a line once, and still reads the
 * file.
 */
export function openDotEnv(project: string, printLine: (line: string) => void): () => Promise<Record<string, string>> {
  const path = join(project, '.env');
  let warned = false;
  return async () => {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) return {};
    const isOpen = ((await stat(path)).mode & 0o044) !== 0;
    if (isOpen && !warned) printLine(`other users on this machine can read ${path}: run chmod 600 .env`);
    warned = isOpen;
    return Object.fromEntries(
      Object.entries(parseEnv(withoutMark(text))).filter((pair): pair is [string, string] => !!pair[1]),
    );
  };
}

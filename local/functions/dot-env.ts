import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { withoutMark } from '../../core/text.ts';
import { dotEnvFaults } from './dot-env-faults.ts';

export interface DotEnvOptions {
  readonly project: string;
  /** Variables of the stack, which the file cannot replace. */
  readonly fixed: Readonly<Record<string, string>>;
  readonly printLine: (line: string) => void;
}

/**
 * Returns a function that reads the variables of the project's handlers from the `.env` file beside its package.json,
 * if it exists. It prints a line when other users on the machine can read the file, which it still reads, for each line
 * of the file that has a fault, and when the file sets a variable of the stack; each line is printed again only if it
 * has not applied in between.
 */
export function openDotEnv({ project, fixed, printLine }: DotEnvOptions): () => Promise<Record<string, string>> {
  const path = join(project, '.env');
  let printed = new Set<string>();
  return async () => {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text === undefined) return {};
    const plain = withoutMark(text);
    const set = Object.entries(parseEnv(plain)).filter((pair): pair is [string, string] => !!pair[1]);
    const isOpen = ((await stat(path)).mode & 0o044) !== 0;
    const lines = [
      ...(isOpen ? [`other users on this machine can read ${path}: run chmod 600 .env`] : []),
      ...dotEnvFaults(plain),
      ...set.filter(([name]) => name in fixed).map(([name]) => ignored(name)),
    ];
    for (const line of lines) if (!printed.has(line)) printLine(line);
    printed = new Set(lines);
    return Object.fromEntries(set.filter(([name]) => !(name in fixed)));
  };
}

/** The database of a project is what its author may expect here, and another stack may depend on it. */
function ignored(name: string): string {
  if (name !== 'DATABASE_URL') return `.env: ${name} is ignored: the stack sets it itself`;
  return (
    '.env: DATABASE_URL is ignored: handlers get the database of this stack. To run the stack on yours, use npx ' +
    'millrace dev --database-url; to pass yours to handlers, give it another name'
  );
}

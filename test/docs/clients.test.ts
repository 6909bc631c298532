import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, readDocument } from './documents.ts';

const FOLDER = join(ROOT, 'test/clients');
/** Files of test/clients that are not examples. */
const TESTS = /\.test\.ts$|^(clients|shop|vitest\.config)\.ts$/;

it('docs/clients.md shows the files that test/clients compiles and runs', () => {
  const { blocks } = readDocument('docs/clients.md');
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.ts') && !TESTS.test(file));

  const shown = blocks.filter(({ language }) => language === 'ts').map(({ code }) => code);

  expect(files.length).toBe(8);
  expect(shown.toSorted()).toEqual(files.map((file) => readFileSync(join(FOLDER, file), 'utf8')).toSorted());
  for (const code of shown) expect(files).toContain(/^\/\/ (\S+)\n/.exec(code)?.[1]);
});

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, expect, it } from 'vitest';
import { bundleOptions } from '../../../infra/bundle/options.ts';
import { createDatabase } from '../../support/database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { HOSTILE_VARIABLES } from './hostile-surroundings.ts';

const ROOT = join(import.meta.dirname, '../../..');
const test = await createDatabase();
afterAll(() => test.drop());

/** Queries the database once through a pool, and once through a separate connection. */
const SOURCE = `
  import { openDatabase } from '${ROOT}/core/postgres/database.ts';
  import { runText } from '${ROOT}/core/postgres/run-text.ts';
  import { openLog } from '${ROOT}/core/log.ts';
  const [connectionString] = process.argv.slice(-1);
  const db = openDatabase({ connectionString, max: 1, name: 'child', log: openLog(() => undefined) });
  const { rows } = await db.query('select 9007199254740993 as big');
  await db.close();
  const { results } = await runText('select 1', { connectionString, name: 'child', connectTimeoutMs: 30_000,
    onNotice: () => undefined, cancelled: new AbortController().signal });
  console.log(rows[0].big, results.length);`;

const runNode = async (...args: string[]) => {
  const env = { ...process.env, ...HOSTILE_VARIABLES };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return stdout;
};

// The variables of a shell apply when a process loads the driver, so only a process of its own shows their effect.
it('a process that starts amid hostile variables uses our driver, from the sources', async () => {
  const file = join(await temporaryFolder(), 'entry.ts');
  await writeFile(file, SOURCE);

  expect(await runNode(file, test.url)).toBe('9007199254740993 1\n');
});

it('a process that starts amid hostile variables uses our driver, from a bundle', async () => {
  const outfile = join(await temporaryFolder(), 'index.mjs');
  await build({
    ...bundleOptions([], import.meta.filename),
    stdin: { contents: SOURCE, resolveDir: ROOT, loader: 'ts' },
    outfile,
  });

  expect(await runNode(outfile, test.url)).toBe('9007199254740993 1\n');
});

it('the command line starts amid hostile variables', async () => {
  const answer = await runNode(join(ROOT, 'cli/millrace.js'), 'sql', 'select 1 as one', '--database-url', test.url);

  expect(answer).toBe('1\n');
});

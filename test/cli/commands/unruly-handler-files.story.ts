import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { brokenFiles, findExpectedStage } from '../../../cli/doctor/expected-stage.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Files that would do to the command what they do to themselves. */
const UNRULY = {
  'ends the process with 0': 'process.exit(0);',
  'ends the process with 3': 'process.exit(3);',
  'aborts the process': 'process.abort();',
  'never ends': 'while (true) {}',
};

async function projectWith(file: string, source: string): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'functions/handlers'), { recursive: true });
  await writeFile(join(folder, 'functions/handlers', file), source);
  await writeFile(join(folder, 'package.json'), '{}');
  return folder;
}

const enqueue = async (cwd: string) => {
  const { code, stdout, stderr } = await runCli(['enqueue', 'tiny', '{}'], {
    cwd,
    env: { DATABASE_URL: database.url },
  });
  const { rowCount } = await database.pool.query('select from millrace.jobs where id = $1', [stdout.trim() || null]);
  return { code, inserted: rowCount, stderr };
};

it.each(Object.entries(UNRULY))('enqueue ignores the file of another handler that %s', async (_what, source) => {
  const folder = await projectWith('other.ts', source);

  const { stderr, ...rest } = await enqueue(folder);

  expect(rest).toEqual({ code: 0, inserted: 1 });
  expect(stderr).not.toContain('other.ts');
});

it.each(Object.entries(UNRULY).slice(0, 3))(
  'enqueue inserts the job and warns when the file of its handler %s',
  async (_what, source) => {
    const folder = await projectWith('tiny.ts', source);

    const { stderr, ...rest } = await enqueue(folder);

    expect(rest).toEqual({ code: 0, inserted: 1 });
    expect(stderr).toContain('tiny.ts: ends the process (');
    expect(stderr).toContain('the payload is not checked');
  },
);

it('doctor reports a file that ends the process', async () => {
  const folder = await projectWith('bad.ts', 'process.exit(0);');

  const expected = await findExpectedStage({ stage: 'dev', handlers: join(folder, 'functions/handlers') });

  const [sentence] = brokenFiles(expected!.catalog);
  expect(sentence).toBe('functions/handlers/bad.ts: ends the process (exit code 0) while it is imported');
});

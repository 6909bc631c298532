import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Creates a folder for temporary files where another account has put the package `optional`. */
async function plant() {
  const temporary = await temporaryFolder();
  const [planted, ran] = [join(temporary, 'node_modules/optional'), join(temporary, 'ran')];
  await mkdir(planted, { recursive: true });
  await writeFile(join(planted, 'index.js'), `require('node:fs').writeFileSync(${JSON.stringify(ran)}, '');`);
  await chmod(dirname(planted), 0o777);
  return { temporary, hasRun: () => existsSync(ran) };
}

describe.each([
  ['an import', `await import('optional').catch(() => undefined);`],
  ['a require', `try { require('optional'); } catch {}`],
  ['an import of a variable', `const name = 'optional'; await import(name).catch(() => undefined);`],
])('%s of a package that the project does not have', (_what, source) => {
  it.each(['with', 'without'])('runs none beside the temporary files, in a project %s packages', async (packages) => {
    const project = await temporaryFolder();
    const handlers = join(project, 'jobs');
    await mkdir(handlers);
    await writeFile(join(project, 'package.json'), '{}');
    if (packages === 'with') await mkdir(join(project, 'node_modules'));
    await writeFile(join(handlers, 'x.ts'), source);
    const { temporary, hasRun } = await plant();
    const env = { DATABASE_URL: database.url, TMPDIR: temporary };

    const enqueued = await runCli(['enqueue', 'x', '{}'], { cwd: project, env });
    await runCli(['doctor', '--stage', 'prod'], { cwd: project, env });
    spawnSync(process.execPath, ['infra/read-handlers.ts', handlers], { env: { ...process.env, ...env } });

    expect(enqueued.code).toBe(0);
    expect(enqueued.stderr).toContain('the payload is not checked: ');
    expect(hasRun()).toBe(false);
  });
});

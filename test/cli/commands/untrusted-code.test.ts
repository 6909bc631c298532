import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runCli } from '../run-cli.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Creates `functions/handlers/x.ts`, which records that it ran, and a folder beside it. */
async function plant({ mode = 0o755, manifest = false } = {}) {
  const folder = await temporaryFolder();
  const [handlers, ran, victim] = ['functions/handlers', 'ran', 'victim'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await mkdir(handlers, { recursive: true });
  await mkdir(victim);
  const source = `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(ran)}, '');\n`;
  await writeFile(join(handlers, 'x.ts'), source);
  if (manifest) await writeFile(join(folder, 'package.json'), '{}');
  await chmod(handlers, mode);
  return { folder, handlers, victim, hasRun: () => existsSync(ran) };
}

const enqueue = (cwd: string) => runCli(['enqueue', 'x', '{}'], { cwd, env: { DATABASE_URL: database.url } });

it('enqueue inserts the job with a warning, but runs no code that every user can change', async () => {
  const { victim, handlers, hasRun } = await plant({ mode: 0o777, manifest: true });

  const { code, stderr } = await enqueue(victim);

  expect(code).toBe(0);
  expect(stderr).toContain(`the payload is not checked: every user can change ${handlers}`);
  expect(hasRun()).toBe(false);
});

it.each(['victim', 'folder'] as const)(
  'enqueue to a named database runs no code outside a project, from the %s',
  async (from) => {
    const planted = await plant();

    const { code, stderr } = await enqueue(planted[from]);

    expect(code).toBe(0);
    expect(stderr).not.toContain('payload');
    expect(planted.hasRun()).toBe(false);
  },
);

it('enqueue to a named database runs the code of the project that contains the folder', async () => {
  const { victim, hasRun } = await plant({ manifest: true });

  await enqueue(victim);

  expect(hasRun()).toBe(true);
});

it('enqueue runs no code from above the project that contains the folder', async () => {
  const { victim, hasRun } = await plant();
  await writeFile(join(victim, 'package.json'), '{}');

  await enqueue(victim);

  expect(hasRun()).toBe(false);
});

it('doctor --stage refuses handlers that every user on the machine can change', async () => {
  const { victim, handlers, hasRun } = await plant({ mode: 0o777 });

  const { code, stderr } = await runCli(['doctor', '--stage', 'prod'], { cwd: victim });

  expect(code).toBe(1);
  expect(stderr).toBe(`error: every user can change ${handlers}, so it is not used: run chmod o-w ${handlers}\n`);
  expect(hasRun()).toBe(false);
});

it('a command without a target refuses the address of a stack from a file that every user can change', async () => {
  const { folder, victim } = await plant();
  const state = join(folder, '.millrace/dev.json');
  await mkdir(join(folder, '.millrace'));
  await writeFile(state, JSON.stringify({ pid: process.pid, processStart: 'x', databaseUrl: database.url }));
  await chmod(state, 0o666);

  const { code, stderr } = await runCli(['sql', "select 'my private statement'"], { cwd: victim });

  expect(code).toBe(7);
  expect(stderr).toBe(`error: every user can change ${state}, so it is not used: run chmod o-w ${state}\n`);
});

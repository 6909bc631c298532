import { existsSync } from 'node:fs';
import { appendFile, chmod, chown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { groupName } from '../../../local/ownership.ts';
import { projectFault } from '../../../local/project-fault.ts';
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

const isRoot = process.getuid?.() === 0;
const doctor = (cwd: string) => runCli(['doctor', '--stage', 'prod'], { cwd });
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

const FOREIGN = 65_534;
const chownTo = (uid: number, gid: number) => (path: string) => chown(path, uid, gid);
const openTo = (mode: number, gid?: number) => async (path: string) => {
  if (gid !== undefined) await chown(path, 0, gid);
  await chmod(path, mode);
};

describe.each(['functions/handlers/x.ts', 'functions/lib.ts', 'functions/deep/more.ts', 'tsconfig.json', '.env'])(
  'a project whose file %s',
  (file) => {
    it.each([
      ['every user can change', openTo(0o666), 'every user can change '],
      ['another group can change', openTo(0o664, FOREIGN), `the group ${groupName(FOREIGN)} can change `],
      ['belongs to another account', chownTo(FOREIGN, FOREIGN), ''],
    ])('%s is not run by enqueue, doctor or up', async (what, damage, fault) => {
      if (what !== 'every user can change' && !isRoot) return;
      const { folder, hasRun } = await plant({ manifest: true });
      const path = join(folder, file);
      await mkdir(dirname(path), { recursive: true });
      await appendFile(path, '');
      await damage(path);

      const refused = `${fault}${path}`;
      expect((await enqueue(folder)).stderr).toContain(`the payload is not checked: ${refused}`);
      expect((await doctor(folder)).stderr).toContain(`error: ${refused}`);
      expect(projectFault(folder, join(folder, 'functions/handlers'))).toContain(refused);
      expect(hasRun()).toBe(false);
    });
  },
);

it.each(['functions', 'functions/handlers', '.'])(
  'code below a folder that others can change is not run: %s',
  async (path) => {
    const { folder, victim, hasRun } = await plant({ manifest: true });
    await openTo(0o777)(join(folder, path));

    expect((await enqueue(victim)).stderr).toContain('the payload is not checked: every user can change');
    expect((await doctor(victim)).stderr).toContain('error: every user can change');
    expect(projectFault(folder, join(folder, 'functions/handlers'))).toContain('every user can change');
    expect(hasRun()).toBe(false);
  },
);

it('a project with files that the own group of its account can change is used', async () => {
  const { folder, handlers, hasRun } = await plant({ manifest: true });
  for (const path of [folder, handlers]) await chmod(path, 0o775);
  await chmod(join(handlers, 'x.ts'), 0o664);
  // As editors leave them: a link that points to no file.
  await symlink('me@here.1:2', join(handlers, '.#x.ts'));

  await enqueue(folder);

  expect(projectFault(folder, join(folder, 'functions/handlers'))).toBeUndefined();
  expect(hasRun()).toBe(true);
});

it('dev names what another account can have written, and starts nothing', async () => {
  const { folder, handlers } = await plant({ mode: 0o777, manifest: true });

  const { code, stderr } = await runCli(['dev'], { cwd: folder });

  expect(code).toBe(2);
  expect(stderr).toBe(`every user can change ${handlers}, so it is not used: run chmod o-w ${handlers}\n`);
  expect(existsSync(join(folder, '.millrace'))).toBe(false);
});

it('doctor --handlers refuses files that every user of the machine can change', async () => {
  const { victim, handlers, hasRun } = await plant();
  const file = join(handlers, 'x.ts');
  await chmod(file, 0o666);

  const { stderr } = await runCli(['doctor', '--stage', 'prod', '--handlers', handlers], { cwd: victim });

  expect(stderr).toBe(`error: every user can change ${file}, so it is not used: run chmod o-w ${file}\n`);
  expect(hasRun()).toBe(false);
});

it('doctor --stage refuses handlers that every user of the machine can change', async () => {
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

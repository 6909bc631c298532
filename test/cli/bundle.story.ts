import { execFile } from 'node:child_process';
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const URL_COMMAND = 'cli/commands/url.ts';

/** A clone with the sources of the command line, in which no command has run yet. */
async function makeClone() {
  const folder = await temporaryFolder();
  for (const name of ['api', 'cli', 'core', 'local', 'migrations', 'package.json']) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    promisify(execFile)(process.execPath, ['cli/millrace.js', ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...env },
    });
  const bundle = async (): Promise<string> =>
    JSON.parse(await readFile(join(folder, '.millrace/cli/made.json'), 'utf8')).main;
  return { folder, run, bundle };
}

describe('the bundle of a clone', () => {
  it('is complete after several concurrent first calls', async () => {
    const { folder, run } = await makeClone();

    const answers = await Promise.all([1, 2, 3].map(() => run(['url', '--help'])));
    const after = await run(['url', '--help']);
    const drafts = (await readdir(join(folder, '.millrace/cli'))).filter((name) => name.endsWith('.new'));

    expect(after.stdout).toContain('Usage: millrace url');
    expect(answers).toEqual([after, after, after]);
    expect(drafts).toEqual([]);
  });

  it('is kept until a source changes', async () => {
    const { folder, run, bundle } = await makeClone();
    await run(['--version']);
    const first = await bundle();
    await run(['--version']);
    const second = await bundle();

    await change(join(folder, URL_COMMAND), /\.description\(.*\)/, ".description('say it otherwise')");
    const { stdout } = await run(['url', '--help']);

    expect(stdout).toContain('say it otherwise');
    expect(second).toBe(first);
    expect(await bundle()).not.toBe(first);
  });

  it('is not used, with a warning, where it cannot be written', async () => {
    const { folder, run } = await makeClone();
    await writeFile(join(folder, '.millrace'), '');

    const { stdout, stderr } = await run(['--version']);

    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(stderr).toMatch(/^warning: cannot bundle the command line, so each call is slower: .*\n$/);
  });

  it('names lines of the sources in a stack if this is requested', async () => {
    const { folder, run } = await makeClone();
    const line = await change(join(folder, URL_COMMAND), 'print(', 'console.error(new Error().stack); print(');

    const { stderr } = await run(['url', '--database-url', 'postgres://host/name'], {
      NODE_OPTIONS: '--enable-source-maps',
    });

    expect(stderr).toContain(`${URL_COMMAND}:${line}:`);
  });
});

/** Replaces the first match in a file; returns its line. */
async function change(file: string, found: string | RegExp, by: string): Promise<number> {
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(found, by));
  return text.slice(0, text.search(found instanceof RegExp ? found : found.replace('(', '\\('))).split('\n').length;
}

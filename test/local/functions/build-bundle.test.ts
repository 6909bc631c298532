import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundleEnvironment } from '../../../infra/bundle/options.ts';
import { buildBundle } from '../../../local/functions/build-bundle.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { openRunner } from '../lambda/runner-fixture.ts';

/** Writes files into a new folder and returns it. */
async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

const ENTRY = "import run from '#handler'; export const handler = (event: unknown) => run(event);";

test('an entry is built around the file that its alias names, and its stack names the source', async () => {
  const folder = await folderWith({
    'handler.ts': ENTRY,
    'one.ts': `class OddlyNamedError extends Error {}
export default function run(): string[] {
  const error = new OddlyNamedError('x');
  return [error.constructor.name, error.stack ?? ''];
}`,
  });
  const entry = join(folder, 'handler.ts');
  const outFile = join(folder, 'out/one.mjs');
  const fixture = await openRunner();

  const bundle = await buildBundle({ entry, outFile, alias: { '#handler': join(folder, 'one.ts') } });
  fixture.runner.addFunction({ ...(await fixture.build('one', '')), bundle: outFile, environment: bundleEnvironment });
  const { payload } = await fixture.runner.invoke('one', {}, 'RequestResponse');
  await fixture.close();

  expect(bundle.sources.sort()).toEqual([entry, join(folder, 'one.ts')]);
  expect(bundle.bytes).toBe((await readFile(outFile)).byteLength);
  const [name, stack] = payload as [string, string];
  expect(name).toBe('OddlyNamedError');
  expect(stack).toContain(`${join(folder, 'one.ts')}:3:`);
});

test('a package in CommonJS, and one that asks for a built-in module, load', async () => {
  const folder = await folderWith({
    'entry.ts': `import pkg from './pkg.cjs'; export const handler = () => pkg.name;`,
    'pkg.cjs': `const events = require('events'); exports.name = typeof events.once;`,
  });
  const outFile = join(folder, 'entry.mjs');
  const fixture = await openRunner();

  await buildBundle({ entry: join(folder, 'entry.ts'), outFile });
  fixture.runner.addFunction({ ...(await fixture.build('entry', '')), bundle: outFile });
  const { payload } = await fixture.runner.invoke('entry', {}, 'RequestResponse');
  await fixture.close();

  expect(payload).toBe('function');
});

test('neither the bundle nor its map says where it was built', async () => {
  const folder = await folderWith({ 'entry.ts': `export const handler = () => 'a';` });
  const outFile = join(folder, 'entry.mjs');

  await buildBundle({ entry: join(folder, 'entry.ts'), outFile });

  const built = (await readFile(outFile, 'utf8')) + (await readFile(`${outFile}.map`, 'utf8'));
  expect(built).toContain('entry.ts');
  expect(built).not.toContain(folder);
});

test('what does not compile is named by file and line', async () => {
  const folder = await folderWith({
    'entry.ts': "import './other.ts'; export const handler = () => 1;",
    'other.ts': '\n\nconst broken = ;',
  });

  const building = buildBundle({ entry: join(folder, 'entry.ts'), outFile: join(folder, 'out.mjs') });

  await expect(building).rejects.toMatchObject({
    code: 'BUNDLE_FAILED',
    message: expect.stringMatching(/other\.ts:3:16 Unexpected ";"$/),
  });
});

test('an import that leads nowhere is named with the place of it', async () => {
  const folder = await folderWith({ 'entry.ts': "import './absent.ts';\nexport const handler = () => 1;" });

  const building = buildBundle({ entry: join(folder, 'entry.ts'), outFile: join(folder, 'out.mjs') });

  await expect(building).rejects.toThrow(/entry\.ts:1:8 Could not resolve "\.\/absent\.ts"$/);
});

test('a bundle that throws when it is loaded is named by its source', async () => {
  const folder = await folderWith({
    'entry.ts': "export const handler = () => 1;\n\nthrow new RangeError('too early');",
  });
  const outFile = join(folder, 'entry.mjs');
  const fixture = await openRunner();

  await buildBundle({ entry: join(folder, 'entry.ts'), outFile });
  fixture.runner.addFunction({
    ...(await fixture.build('entry', '')),
    bundle: outFile,
    environment: bundleEnvironment,
  });
  await fixture.runner.invoke('entry', {}, 'RequestResponse');
  await fixture.close();

  const [failure] = fixture.events.filter(({ kind }) => kind === 'init-failed');
  expect(failure?.message).toBe(`RangeError: too early (${join(folder, 'entry.ts')}:3)`);
});

import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { loadCatalog } from '../../../core/catalog/catalog.ts';
import { findMisplaced, listFiles } from '../../../core/catalog/handler-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const HANDLER = 'export default defineHandler({});';
const MODULE = 'export const one = 1;';

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

it('lists .ts files, and other sources only if they define a handler', async () => {
  const folder = await folderOf({
    ...{ 'a.ts': MODULE, 'b.js': HANDLER, 'c.mjs': HANDLER, 'd.cjs': HANDLER, 'e.mts': HANDLER },
    ...{ 'partner.js': MODULE, 'types.d.ts': MODULE, 'a.test.ts': HANDLER, 'b.spec.js': HANDLER, 'x.md': HANDLER },
  });

  expect(await listFiles(folder)).toEqual(['a.ts', 'b.js', 'c.mjs', 'd.cjs', 'e.mts']);
});

it('lists a source that cannot be read, and no folder with the name of one', async () => {
  const folder = await folderOf({ 'a.js': HANDLER, 'vendor.js/a.md': 'text' });
  await symlink('nowhere.js', join(folder, 'b.js'));

  expect(await listFiles(folder)).toEqual(['a.js', 'b.js']);
  expect(await findMisplaced(folder)).toEqual([]);
});

it('names files that define a handler but are not loaded, and accepts modules that handlers import', async () => {
  const misplaced = ['below/deeper/old.js', 'below/old.ts', 'old.tsx'];
  const handlers = [...misplaced, 'node_modules/millrace/x.js', 'new.test.ts', 'new.ts'].map((file) => [file, HANDLER]);
  const modules = ['lib/partner.ts', 'partner.js'].map((file) => [file, MODULE]);
  const folder = await folderOf(Object.fromEntries([...handlers, ...modules]));

  const found = await findMisplaced(folder);

  const message =
    'is ignored: a handler must be a file directly in the handlers folder, with .ts, .js, .mts, .cts, .mjs or .cjs';
  expect(found.map(({ file }) => relative(folder, file))).toEqual(misplaced);
  expect(found.map((one) => one.message)).toEqual(misplaced.map(() => message));
});

it('names a source beside the handlers that describes a handler without defineHandler', async () => {
  const folder = await folderOf({ 'legacy.js': `module.exports = { jobType: 'legacy' };`, 'lib/old.js': 'jobType: 1' });

  expect(await findMisplaced(folder)).toEqual([
    { file: join(folder, 'legacy.js'), message: 'is ignored: create its default export with defineHandler' },
  ]);
});

it('names two files that define the same handler', async () => {
  const folder = await folderOf({ 'plain.js': HANDLER, 'plain.ts': HANDLER });

  const { failures } = await loadCatalog(folder, async (file) => ({ file, message: 'is not imported' }));

  expect(failures).toEqual([
    { file: join(folder, 'plain.js'), message: 'is not imported' },
    { file: join(folder, 'plain.ts'), message: 'plain.js defines the same handler: delete one of them' },
  ]);
});

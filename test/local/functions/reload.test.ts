import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { watchSources } from '../../../local/functions/reload.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function watchProject() {
  const project = await temporaryFolder();
  const watched = { folder: join(project, 'functions'), file: join(project, '.env'), sources: new Set<string>() };
  await mkdir(watched.folder);
  let reloads = 0;
  const reload = async () => {
    reloads += 1;
  };
  const lines: string[] = [];
  const { update, end } = await watchSources(watched, reload, (line) => lines.push(line));
  onTestFinished(end);
  return { ...watched, project, lines, update, reloads: () => reloads };
}

it.each<[string, (file: string) => Promise<unknown>]>([
  ['created', (file) => writeFile(file, 'A=1')],
  ['replaced by another', (file) => writeFile(`${file}.new`, 'A=1').then(() => rename(`${file}.new`, file))],
])('an .env file that is %s reloads the handlers', async (_how, save) => {
  const { file, reloads } = await watchProject();

  await save(file);

  await eventually(() => expect(reloads()).toBe(1));
});

it('an .env file that is deleted reloads the handlers', async () => {
  const { file, reloads } = await watchProject();
  await writeFile(file, 'A=1');
  await eventually(() => expect(reloads()).toBe(1));

  await rm(file);

  await eventually(() => expect(reloads()).toBe(2));
});

it('a file in functions/ reloads the handlers', async () => {
  const { folder, reloads } = await watchProject();

  await writeFile(join(folder, 'handler.ts'), 'export default 1;');

  await eventually(() => expect(reloads()).toBe(1));
});

it.each(['.#handler.ts', '._handler.ts', '.cache/handler.ts'])('%s in functions/ reloads nothing', async (name) => {
  const { folder, reloads } = await watchProject();
  const other = await watchProject();

  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), '');
  await writeFile(join(other.folder, 'handler.ts'), '');

  // Both reloads wait equally long, and this one was caused last.
  await eventually(() => expect(other.reloads()).toBe(1));
  expect(reloads()).toBe(0);
});

it('a file that is saved during a reload starts another one', async () => {
  const project = await temporaryFolder();
  const folder = join(project, 'functions');
  await mkdir(folder);
  const first = Promise.withResolvers<void>();
  let reloads = 0;
  const reload = async () => {
    reloads += 1;
    await first.promise;
  };
  const watched = { folder, file: join(project, '.env'), sources: new Set<string>() };
  const { end } = await watchSources(watched, reload, () => undefined);

  await writeFile(join(folder, 'slow.ts'), 'export default 1;');
  await eventually(() => expect(reloads).toBe(1));
  await writeFile(join(folder, 'fast.ts'), 'export default 1;');

  await eventually(() => expect(reloads).toBe(2));
  first.resolve();
  await end();
});

it.each<[string, string]>([
  ['a module elsewhere that a handler imports', 'src/prices.ts'],
  ['a new source beside it', 'src/rates.ts'],
])('%s reloads the handlers', async (_what, name) => {
  const { project, sources, update, reloads } = await watchProject();
  await mkdir(join(project, 'src'));
  await writeFile(join(project, 'src/prices.ts'), 'export {};');
  sources.add(join(project, 'src/prices.ts'));
  await update();

  await writeFile(join(project, name), 'export const price = 5;');

  await eventually(() => expect(reloads()).toBe(1));
});

it('a folder of handlers that is deleted and restored, as git switch does, is watched again', async () => {
  const { folder, lines, reloads } = await watchProject();
  await rm(folder, { recursive: true });
  await eventually(() => expect(lines).toEqual([expect.stringMatching(/^no folder .*functions: .* stay deployed/)]));

  await mkdir(folder);
  await eventually(() => expect(reloads()).toBe(1));
  await writeFile(join(folder, 'handler.ts'), 'export default 1;');

  await eventually(() => expect(reloads()).toBe(2));
  expect(lines).toHaveLength(1);
});

it('a folder of handlers that is restored with the folder above it is watched again', async () => {
  const project = await temporaryFolder();
  const folder = join(project, 'functions/handlers');
  await mkdir(folder, { recursive: true });
  const { promise: missing, resolve: onLine } = Promise.withResolvers<void>();
  let reloads = 0;
  const reload = async () => {
    reloads += 1;
  };
  const watched = { folder, file: join(project, '.env'), sources: new Set<string>() };
  const { end } = await watchSources(watched, reload, () => onLine());
  onTestFinished(end);
  await rm(join(project, 'functions'), { recursive: true });
  await missing;

  await mkdir(join(project, 'functions'));
  await mkdir(folder);

  await eventually(() => expect(reloads).toBe(1));
});

it.each(['functions/prices', 'src'])('the folder %s that is replaced by another is watched again', async (name) => {
  const { project, sources, update, reloads } = await watchProject();
  const replaced = join(project, name);
  await mkdir(replaced);
  await writeFile(join(replaced, 'prices.ts'), 'export {};');
  if (name === 'src') sources.add(join(replaced, 'prices.ts'));
  else await eventually(() => expect(reloads()).toBeGreaterThan(0));
  await update();
  const before = reloads();
  await mkdir(`${project}/next`);
  await rm(replaced, { recursive: true });
  await rename(`${project}/next`, replaced);
  await eventually(() => expect(reloads()).toBeGreaterThan(before));
  const after = reloads();

  await writeFile(join(replaced, 'prices.ts'), 'export const price = 5;');

  await eventually(() => expect(reloads()).toBeGreaterThan(after));
});

import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { openProbe } from '../../../core/catalog/probe.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const HANDLER = new URL('../../../core/handler/handler.ts', import.meta.url);

/** Returns the source of a handler file, with these imports and this timeout. */
function handler(imports: string, timeout = "'30s'"): string {
  return `${imports}
import { defineHandler } from '${HANDLER}';
export default defineHandler({
  jobType: 'a',
  payload: { '~standard': { version: 1, vendor: 'none', validate: (value: unknown) => ({ value }) } } as never,
  timeout: ${timeout},
  run: async () => undefined,
});`;
}

/** A project of ES modules, in which `save` writes files and `read` reads the handler `a`: its timeout or its fault. */
async function openProject() {
  const folder = await temporaryFolder();
  const file = join(folder, 'functions/handlers/a.ts');
  const probe = openProbe();
  const save = async (files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
  };
  const read = async () => {
    const verdict = await probe(file, ['a.ts']);
    return 'message' in verdict ? verdict.message : verdict.definition.timeoutSeconds;
  };
  await save({ 'package.json': '{"type":"module"}' });
  return { folder, save, read };
}

const A = 'functions/handlers/a.ts';

const LIMIT = { before: `export const limit = '5s';`, after: `export const limit = '60s';` };

it.each([
  { what: 'whose value is saved', name: 'functions/settings.ts', first: 5 },
  { what: 'outside functions', name: 'lib/settings.ts', first: 5 },
  {
    what: 'in CommonJS',
    name: 'lib/a.cjs',
    before: `exports.limit = '5s';`,
    after: `exports.limit = '60s';`,
    first: 5,
  },
  {
    what: 'that threw',
    name: 'lib/h.ts',
    before: `${LIMIT.before} throw new Error('x');`,
    first: /^Error: x \(at .*h\.ts:1/,
  },
  {
    what: 'that ended its process',
    name: 'lib/h.ts',
    before: `${LIMIT.before} process.exit(1);`,
    first: /^ends the process/,
  },
  { what: 'with a syntax error', name: 'lib/h.ts', before: 'export const limit = ;', first: /^SyntaxError/ },
  { what: 'without the export', name: 'lib/h.ts', before: 'export {};', first: /named 'limit'/ },
  { what: 'that did not exist', name: 'lib/new.ts', before: undefined, first: /^Error: Cannot find module/ },
])('reads a handler again after a save of an imported file $what', async (row) => {
  const { name, before, after, first } = { ...LIMIT, ...row };
  const { save, read } = await openProject();
  await save({ [A]: handler(`import { limit } from '../../${name}';`, 'limit') });
  if (before !== undefined) await save({ [name]: before });

  const one = await read();
  await save({ [name]: after });
  const two = await read();

  if (first instanceof RegExp) expect(one).toMatch(first);
  else expect(one).toBe(first);
  expect(two).toBe(60);
});

it('reads a handler again after each save of its file, valid or not', async () => {
  const { save, read } = await openProject();
  const texts = [handler('', "'10s'"), `throw new Error('typo');`, handler('', "'25s'")];
  const seen: unknown[] = [];

  for (const text of texts) {
    await save({ [A]: text });
    seen.push(await read());
  }

  expect(seen).toEqual([10, 'Error: typo', 25]);
});

it('reads a handler again after a save of a file that an imported file imports', async () => {
  const { save, read } = await openProject();
  await save({ [A]: handler(`import { limit } from '../../lib/one.ts';`, 'limit') });
  await save({ 'lib/one.ts': `export * from './two.ts';`, 'lib/two.ts': `export const limit = '5s';` });

  const one = await read();
  await save({ 'lib/two.ts': `export const limit = '60s';` });

  expect([one, await read()]).toEqual([5, 60]);
});

it('refuses a handler each time while a CommonJS package that it imports throws', async () => {
  const { save, read } = await openProject();
  const pay = 'node_modules/pay/index.js';
  await save({ 'node_modules/pay/package.json': '{"name":"pay","main":"index.js"}' });
  await save({ [pay]: `throw new Error('PAY_KEY is missing');`, [A]: handler(`import pay from 'pay'; void pay;`) });

  const first = await read();
  await save({ [A]: handler(`import pay from 'pay'; void pay; // saved`) });
  const second = await read();
  await save({ [pay]: 'module.exports = 1;' });

  expect(first).toMatch(/^Error: PAY_KEY is missing/);
  expect(second).toBe(first);
  expect(await read()).toBe(30);
});

it('imports no file of a handler into its own process, and nothing again until a source is saved', async () => {
  const { folder, save, read } = await openProject();
  const story = join(folder, 'story');
  await save({ story: '', [A]: handler(`import '../../lib/h.ts';`) });
  const source = `import { appendFileSync } from 'node:fs'; appendFileSync('${story}', process.pid + ' ');`;
  await save({ 'lib/h.ts': source });
  // A file that was saved within one step of the clock is read once more, since another save may look the same.
  for (const name of [A, 'lib/h.ts']) await utimes(join(folder, name), 1, 1);

  await read();
  await read();
  await read();
  const before = (await readFile(story, 'utf8')).trim().split(' ');
  await save({ 'lib/h.ts': `${source} // saved` });
  await read();
  const after = (await readFile(story, 'utf8')).trim().split(' ');

  expect(before).toHaveLength(1);
  expect(after).toHaveLength(2);
  expect(new Set([...after, String(process.pid)]).size).toBe(3);
});

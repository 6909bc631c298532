import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it, vi } from 'vitest';
import { compileSource } from '../../../infra/bundle/compile.ts';
import { openCompiler } from '../../../local/functions/compiler.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const PATH = '../../../infra/bundle/compile.ts';
vi.mock('../../../infra/bundle/compile.ts', { spy: true });
const { compileSource: original } = await vi.importActual<typeof import('../../../infra/bundle/compile.ts')>(PATH);

beforeEach(() => vi.clearAllMocks());

const FILES = {
  'package.json': '{"type":"module"}',
  'tsconfig.json': '{"compilerOptions":{"paths":{"@/*":["./src/*"]}}}',
  'src/price.ts': 'export const price: number = 1;',
  'src/unused.ts': 'export const unused: number = 1;',
  'other/price.ts': 'export const price: number = 2;',
  'jobs/charge.ts': `import { price } from '@/price';\nexport default price;`,
  'jobs/greet.ts': `export default 'hello';`,
};

/** Compiles two files of a project, of which `charge.ts` imports `src/price.ts`. */
async function openProject() {
  const project = await temporaryFolder();
  let minutes = 0;
  const save = async (name: string, text: string) => {
    const file = join(project, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    // Each save has a time of its own, long before the file is compiled.
    minutes += 1;
    const time = new Date(Date.now() - (1000 - minutes) * 60_000);
    await utimes(file, time, time);
  };
  for (const [name, text] of Object.entries(FILES)) await save(name, text);
  const seen = new Set<string>();
  const onSources = (sources: readonly string[]) => {
    for (const source of sources) seen.add(source.slice(project.length + 1));
  };
  const compile = openCompiler({ project, target: join(project, '.millrace'), onSources });
  const compileAll = async () => {
    vi.clearAllMocks();
    seen.clear();
    const files = ['jobs/charge.ts', 'jobs/greet.ts'];
    const modules = await Promise.all(files.map((name) => compile(join(project, name))));
    const texts = await Promise.all(modules.map((module) => readFile(module, 'utf8')));
    const compiled = vi.mocked(compileSource).mock.calls.map(([file]) => file.slice(project.length + 1));
    return { compiled: compiled.sort(), texts, seen: [...seen].sort() };
  };
  return { project, save, compile, compileAll };
}

it('nothing is compiled again without a save, and the sources are reported each time', async () => {
  const { compileAll } = await openProject();
  const first = await compileAll();

  const second = await compileAll();

  expect(first.compiled).toEqual(['jobs/charge.ts', 'jobs/greet.ts']);
  expect(second).toEqual({ ...first, compiled: [] });
  expect(second.seen).toEqual(['jobs/charge.ts', 'jobs/greet.ts', 'src/price.ts']);
});

it.each([
  ['a handler file', 'jobs/greet.ts', `export default 'salve';`, ['jobs/greet.ts']],
  ['a module that it imports', 'src/price.ts', 'export const price: number = 9;', ['jobs/charge.ts']],
  ['a module that no handler imports', 'src/unused.ts', 'export const unused: number = 9;', []],
  ['a source beside such a module', 'src/price.js', 'export const price = 9;', ['jobs/charge.ts']],
])('after a save of %s, only the files that depend on it are compiled: %s', async (_what, name, text, expected) => {
  const { save, compileAll } = await openProject();
  await compileAll();
  await save(name, text);

  const { compiled } = await compileAll();

  expect(compiled).toEqual(expected);
  expect((await compileAll()).compiled).toEqual([]);
});

it('a change of path aliases compiles the files again', async () => {
  const { save, compileAll } = await openProject();
  await compileAll();
  await save('tsconfig.json', '{"compilerOptions":{"paths":{"@/*":["./other/*"]}}}');

  const { compiled, texts } = await compileAll();

  expect(compiled).toEqual(['jobs/charge.ts', 'jobs/greet.ts']);
  expect(texts[0]).toContain('price = 2');
});

it('a file that failed, and one whose module was deleted, are compiled again', async () => {
  const { project, save, compile, compileAll } = await openProject();
  await compileAll();
  await save('jobs/greet.ts', 'const = 1;');
  await expect(compile(join(project, 'jobs/greet.ts'))).rejects.toThrow('Expected identifier');
  await expect(compile(join(project, 'jobs/greet.ts'))).rejects.toThrow('Expected identifier');
  await save('jobs/greet.ts', FILES['jobs/greet.ts']);
  await rm(join(project, '.millrace'), { recursive: true });

  const { compiled } = await compileAll();

  expect(compiled).toEqual(['jobs/charge.ts', 'jobs/greet.ts']);
});

it('a file that is saved while it is compiled is compiled again', async () => {
  const { project, compile, compileAll } = await openProject();
  const file = join(project, 'jobs/greet.ts');
  vi.mocked(compileSource).mockImplementationOnce(async (...given) => {
    const result = await original(...given);
    await writeFile(file, `export default 'salve';`);
    return result;
  });
  await compile(file);

  const { texts } = await compileAll();

  expect(texts[1]).toContain('salve');
});

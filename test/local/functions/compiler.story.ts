import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { loadCatalog } from '../../../core/catalog/catalog.ts';
import { openProbe } from '../../../core/catalog/probe.ts';
import { openCompiler } from '../../../local/functions/compiler.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const CORE = new URL('../../../core/index.ts', import.meta.url).pathname;

/** Starts the text of a handler file on its fourth line, after what Node itself does not understand. */
const handler = (lines: string) => `import { defineHandler } from '${CORE}';
import { times } from '@/times';
enum Kind { Only = 'only' }
${lines}
export default defineHandler({
  jobType: 'greet',
  payload: { '~standard': { version: 1 as const, vendor: Kind.Only, validate: (value: unknown) => ({ value }) } },
  timeout: times,
  run: async () => undefined,
});
`;

async function openProject(files: Readonly<Record<string, string>>) {
  const project = await temporaryFolder();
  const save = async (name: string, text: string) => {
    await mkdir(dirname(join(project, name)), { recursive: true });
    await writeFile(join(project, name), text);
  };
  await save('package.json', '{"type":"module"}');
  await save('tsconfig.json', JSON.stringify({ compilerOptions: { paths: { '@/*': ['./src/*'] } } }));
  await save('src/times.ts', 'export const times: number = 10;');
  for (const [name, text] of Object.entries(files)) await save(name, text);
  const sources = new Set<string>();
  const onSources = (some: readonly string[]) => {
    for (const source of some) sources.add(source);
  };
  const compile = openCompiler({ project, target: join(project, '.millrace'), onSources });
  const probe = openProbe();
  const read = async () => {
    const { handlers, failures } = await loadCatalog(join(project, 'jobs'), probe, compile);
    const named = failures.map(({ file, ...rest }) => ({ file: file.slice(project.length + 1), ...rest }));
    return { handlers, failures: JSON.parse(JSON.stringify(named).replaceAll(`${project}/`, '')) };
  };
  return { read, save, has: (name: string) => sources.has(join(project, name)) };
}

it('a handler uses path aliases and enums, and a module that it imports is read again after a save', async () => {
  const { read, save, has } = await openProject({ 'jobs/greet.ts': handler('') });

  const first = await read();
  await save('src/times.ts', 'export const times: number = 20;');
  const second = await read();

  expect([first, second].flatMap(({ failures }) => failures)).toEqual([]);
  expect([first, second].map(({ handlers }) => handlers[0]?.definition.timeoutSeconds)).toEqual([10, 20]);
  expect(has('jobs/greet.ts') && has('src/times.ts')).toBe(true);
});

it.each<[string, string, object]>([
  ['an error', `throw new TypeError('no luck');`, { line: 4, message: 'TypeError: no luck' }],
  [
    'an error that nothing catches',
    `void Promise.reject(new Error('no luck'));`,
    { line: 4, message: 'throws an error while it is imported that cannot be caught: Error: no luck' },
  ],
  ['a syntax error', 'const = 1;', { line: 4, message: 'Expected identifier but found "="' }],
  ['a missing module', `import '@/gone';`, { line: 4, message: 'Could not resolve "@/gone"' }],
  [
    'a missing package',
    `import 'gone/now';`,
    { line: 4, message: 'Could not resolve "gone/now": is the package installed?' },
  ],
  [
    'a missing package of an owner',
    `import '@own/gone';`,
    { line: 4, message: 'Could not resolve "@own/gone": is the package installed?' },
  ],
  ['an end of the process', 'process.exit(3);', { message: 'ends the process (exit code 3) while it is imported' }],
])('%s at import is reported with the line of the source', async (_what, text, failure) => {
  const { read } = await openProject({ 'jobs/greet.ts': handler(text) });

  expect(await read()).toEqual({ handlers: [], failures: [{ file: 'jobs/greet.ts', ...failure }] });
});

it('an error in an imported module is reported with its file and line', async () => {
  const { read } = await openProject({
    'jobs/greet.ts': handler(''),
    'src/times.ts': `export const times: number = 10;\nthrow new Error('no luck');`,
  });

  const message = 'Error: no luck (at src/times.ts:2)';
  expect(await read()).toEqual({ handlers: [], failures: [{ file: 'jobs/greet.ts', message }] });
});

it('of two versions that are compiled at the same time, the newer one is kept', async () => {
  const { read, save } = await openProject({ 'jobs/greet.ts': handler('') });

  const early = read();
  await save('src/times.ts', 'export const times: number = 20;');
  const late = read();
  await Promise.all([early, late]);

  expect((await read()).handlers[0]?.definition.timeoutSeconds).toBe(20);
});

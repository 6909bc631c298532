import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readFileContext } from '../../core/settings/stage-list.ts';
import { readSettings } from '../../infra/settings/settings.ts';
import { init } from '../../local/init.ts';
import { readExamples } from '../docs/documents.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function projectOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const read = (folder: string, name: string) => readFile(join(folder, name), 'utf8');

it('writes the least that runs into an empty folder', async () => {
  const folder = await projectOf({});

  const { written, skipped } = await init(folder);

  expect(skipped).toEqual([]);
  expect(written.map((line) => line.split(':')[0])).toEqual([
    ...['jobs/say-hello.ts', 'jobs/say-hello.test.ts', 'tsconfig.json', 'cdk.mjs', 'cdk.json', '.gitignore'],
    'package.json',
  ]);
  expect(JSON.parse(await read(folder, 'package.json'))).toMatchObject({
    type: 'module',
    scripts: { dev: 'millrace dev', test: 'node --test jobs/*.test.ts', deploy: 'cdk deploy' },
    dependencies: { millrace: expect.any(String), zod: expect.any(String) },
    devDependencies: {
      'millrace-dev': expect.any(String),
      ...{ typescript: expect.any(String), '@types/node': expect.any(String) },
    },
  });
});

it('lists the stage dev, which is deployed without options', async () => {
  const folder = await projectOf({});

  await init(folder);

  const files = readFileContext(folder);
  expect(readSettings(files, 'jobs', files)).toMatchObject({ stage: 'dev', database: { kind: 'small' } });
  expect(() => readSettings({ ...files, stage: 'prod' }, 'jobs', files)).toThrow(/^stage: .*cdk\.json \(dev\)/);
});

it('changes nothing when it runs again', async () => {
  const folder = await projectOf({});
  await init(folder);
  const before = await read(folder, 'package.json');

  const { written, skipped } = await init(folder);

  expect(written).toEqual([]);
  expect(skipped.map((line) => line.split(' ')[0])).toEqual([
    'jobs/say-hello.ts',
    'jobs/say-hello.test.ts',
    'cdk.json',
  ]);
  expect(await read(folder, 'package.json')).toBe(before);
});

it('overwrites nothing in an existing project, and says what to add by hand', async () => {
  const given = {
    'package.json': `{\n    "name": "shop",\n    "scripts": { "test": "jest" },\n    "dependencies": { "zod": "3.0.0" }\n}\n`,
    '.gitignore': '/node_modules\n.env',
    'cdk.json': '{"app":"npx ts-node bin/shop.ts"}',
    'jobs/say-hello.mjs': 'export default 1;',
  };
  const folder = await projectOf(given);

  const { written, skipped } = await init(folder);

  expect(written).toEqual([
    'jobs/say-hello.test.mjs',
    '.gitignore: .millrace/, cdk.out/',
    'package.json: dev, deploy, millrace, millrace-dev',
  ]);
  expect(skipped).toEqual([
    'jobs/say-hello.mjs exists; nothing to do',
    "cdk.json exists; to deploy, add to its app: import { Millrace } from 'millrace/cdk'; new Millrace(stack, 'Jobs', { stage: 'dev' })",
    'package.json has a script test; to run it under another name: node --test jobs/*.test.mjs',
  ]);
  for (const name of ['jobs/say-hello.mjs', 'cdk.json'] as const) expect(await read(folder, name)).toBe(given[name]);
  expect(await read(folder, '.gitignore')).toBe('/node_modules\n.env\n.millrace/\ncdk.out/\n');
  const manifest = await read(folder, 'package.json');
  expect(manifest).toContain('\n    "name": "shop"');
  expect(JSON.parse(manifest)).toMatchObject({ scripts: { test: 'jest' }, dependencies: { zod: '3.0.0' } });
});

it('leaves a .gitignore that is a link, which git does not follow', async () => {
  const folder = await projectOf({ 'package.json': '{}', 'shared-ignores': 'dist\n' });
  await symlink('shared-ignores', join(folder, '.gitignore'));

  const { skipped } = await init(folder);

  expect(skipped.find((line) => line.startsWith('.gitignore is a link'))).toContain('.millrace/');
  expect(await read(folder, 'shared-ignores')).toBe('dist\n');
});

/** What `pnpm add` writes into an empty folder. */
const OF_PNPM = {
  ...{ name: 'shop', version: '1.0.0', description: '', main: 'index.js', keywords: [], author: '', license: 'ISC' },
  scripts: { test: 'echo "Error: no test specified" && exit 1' },
  dependencies: { millrace: '0.1.0' },
};
/** What `npm init` of npm 11 writes. */
const OF_NPM = JSON.stringify({ ...OF_PNPM, type: 'commonjs' });
const USING_TYPESCRIPT = '{"name":"shop","scripts":{"start":"node ."},"devDependencies":{"typescript":"7"}}';

it.each<[string, Record<string, string>, string]>([
  ['TypeScript by its tsconfig.json', { 'package.json': '{}', 'tsconfig.json': '{}' }, 'ts'],
  ['TypeScript by its packages', { 'package.json': '{"devDependencies":{"typescript":"5"}}' }, 'ts'],
  ['JavaScript', { 'package.json': '{"type":"module"}' }, 'js'],
  ['JavaScript in CommonJS', { 'package.json': '{"name":"shop"}' }, 'mjs'],
  ['TypeScript after the first npm install', { 'package.json': '{"dependencies":{}}' }, 'ts'],
  ['TypeScript after the first pnpm add', { 'package.json': JSON.stringify(OF_PNPM) }, 'ts'],
  ['JavaScript in CommonJS with a main file', { 'package.json': JSON.stringify(OF_PNPM), 'index.js': '' }, 'mjs'],
  ['TypeScript after npm init', { 'package.json': OF_NPM, 'package-lock.json': '' }, 'ts'],
  ['JavaScript after npm init, beside a program', { 'package.json': OF_NPM, 'shop.js': '' }, 'mjs'],
  ['TypeScript in CommonJS', { 'package.json': '{"type":"commonjs"}', 'tsconfig.json': '{}' }, 'mts'],
  ['TypeScript in CommonJS by its packages', { 'package.json': USING_TYPESCRIPT }, 'mts'],
])('writes the handler in the language of the project: %s', async (_language, files, suffix) => {
  const folder = await projectOf(files);

  const { written } = await init(folder);

  expect(written).toContain(`jobs/say-hello.${suffix}`);
  expect(await read(folder, `jobs/say-hello.test.${suffix}`)).toContain(`from './say-hello.${suffix}'`);
});

it('makes ES modules the type of a project that npm init has just created', async () => {
  const folder = await projectOf({ 'package.json': OF_NPM });

  const { written } = await init(folder);

  expect(written).toContainEqual(expect.stringMatching(/^package\.json: type, dev, test/));
  expect(JSON.parse(await read(folder, 'package.json'))).toMatchObject({ name: 'shop', type: 'module' });
});

it('writes no second file for the job type of the first handler', async () => {
  const given = { 'package.json': USING_TYPESCRIPT, 'jobs/say-hello.mjs': '', 'jobs/say-hello.test.mjs': '' };
  const folder = await projectOf(given);

  const { written, skipped } = await init(folder);

  expect(written).not.toContainEqual(expect.stringContaining('say-hello'));
  expect(skipped).toContain('jobs/say-hello.mjs exists; nothing to do');
});

it('names a package.json that is not valid JSON, and writes nothing', async () => {
  const folder = await projectOf({ 'package.json': '{ "name": ' });

  await expect(init(folder)).rejects.toThrow('package.json is not valid JSON: correct it and run init again');
  await expect(read(folder, 'cdk.json')).rejects.toThrow('ENOENT');
});

it('replaces the test script that npm init writes, which runs no test', async () => {
  const scripts = { test: 'echo "Error: no test specified" && exit 1', start: 'node .' };
  const folder = await projectOf({ 'package.json': JSON.stringify({ name: 'shop', type: 'module', scripts }) });

  const { written, skipped } = await init(folder);

  expect(written).toContain('package.json: dev, test, deploy, millrace, zod, millrace-dev');
  expect(skipped).toEqual([]);
  expect(JSON.parse(await read(folder, 'package.json')).scripts).toMatchObject({
    ...{ test: 'node --test jobs/*.test.js', start: 'node .' },
  });
});

it.each([
  ['does not allow it', '{}', ['tsconfig.json exists; if it includes jobs, the test requires']],
  ['allows it', '{ "compilerOptions": { "allowImportingTsExtensions": true } }', []],
])('says what the test requires of a tsconfig.json that %s', async (_what, tsconfig, expected) => {
  const folder = await projectOf({ 'package.json': '{"name":"shop"}', 'tsconfig.json': tsconfig });

  const { skipped } = await init(folder);

  expect(skipped.map((line) => line.slice(0, 60))).toEqual(expected);
  expect(await read(folder, 'tsconfig.json')).toBe(tsconfig);
});

it.each(readExamples().map(({ path }) => dirname(path)))('%s has the files that init writes', async (example) => {
  const folder = await projectOf({});
  await init(folder);
  const json = (name: string) => Promise.all([folder, example].map(async (one) => JSON.parse(await read(one, name))));

  const [stages, ownStages] = await json('cdk.json');
  const [{ scripts }, { scripts: ownScripts, ...manifest }] = await json('package.json');

  for (const name of ['cdk.mjs', '.gitignore']) expect(await read(example, name)).toBe(await read(folder, name));
  expect(ownStages).toEqual(stages);
  expect(ownScripts).toMatchObject({ dev: scripts.dev, deploy: scripts.deploy });
  expect(manifest).toMatchObject({ type: 'module', private: true });
});

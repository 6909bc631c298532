import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadCatalog } from '../../core/catalog/catalog.ts';
import { openProbe } from '../../core/catalog/probe.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { makeProject, type Project } from '../support/project.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { commandLines, inlineCode, ROOT, readDocument, readDocuments, section } from './documents.ts';

const run = promisify(execFile);
const documents = readDocuments();
const blocks = documents.flatMap((document) => document.blocks);
const of = (language: string) => blocks.filter((block) => block.language === language);

let database: TestDatabase;
let project: Project;

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query(`
    create table orders (name text primary key, cents integer);
    create table charges (job_id bigint primary key, cents integer);
    grant usage, create on schema public to millrace_app;
    grant all on orders, charges to millrace_app`);
  project = await makeProject();
});
afterAll(async () => {
  await database.drop();
  await project.remove();
});

it('the documents use only code languages that the tests check', () => {
  const languages = new Set(blocks.map(({ language }) => language));

  expect([...languages].toSorted()).toEqual([
    '',
    'dockerfile',
    'go',
    'js',
    'json',
    'python',
    'ruby',
    'sh',
    'sql',
    'ts',
    'yaml',
  ]);
});

/** `own-table.test.ts` runs the SQL of this document, on the tables that it names. */
const QUERIED_ELSEWHERE = /^docs\/coming-from\.md:/;
const queried = of('sql').filter(({ place }) => !QUERIED_ELSEWHERE.test(place));

it.each(queried)('the SQL of $place runs as millrace_app', async ({ code }) => {
  const client = await database.pool.connect();
  await client.query('set role millrace_app');

  const done = client.query(code);

  await expect(done).resolves.toBeDefined();
  client.release(true);
});

it('the SQL of the documents enqueues the jobs that they describe', async () => {
  const { rows } = await database.pool.query(`
    select payload ->> 'order' as name, priority, unique_key, due_at > now() as later
      from millrace.jobs order by 1`);

  expect(rows).toEqual([
    { name: 'A-17', priority: 5, unique_key: 'charge-A-17', later: false },
    { name: 'A-18', priority: 0, unique_key: null, later: true },
    { name: 'A-19', priority: 5, unique_key: null, later: false },
    { name: 'A-20', priority: 9, unique_key: null, later: false },
    { name: 'A-21', priority: 5, unique_key: null, later: null },
    { name: 'A-22', priority: 5, unique_key: 'charge-A-22', later: false },
    { name: 'A-23', priority: 5, unique_key: 'hourly-A-23', later: false },
    { name: 'A-24', priority: 5, unique_key: 'index-A-24', later: false },
  ]);
});

const statements = documents.flatMap(inlineCode).filter((code) => /^select millrace\./.test(code));

it.each(statements)('the SQL within a sentence runs: %s', async (statement) => {
  const { rows } = await database.pool.query(statement);

  expect(rows).toHaveLength(1);
});

/** `test/clients` compiles and runs the blocks of this document, with the packages that they import. */
const COMPILED_ELSEWHERE = /^docs\/clients\.md:/;

it('every TypeScript block compiles as the file that it names', async () => {
  const compiledHere = of('ts').filter(({ place }) => !COMPILED_ELSEWHERE.test(place));
  const files = compiledHere.map(({ code }) => ({ code, file: /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] as string }));
  for (const { code, file } of files) {
    await mkdir(join(project.folder, dirname(file)), { recursive: true });
    await writeFile(join(project.folder, file), code);
  }
  const settings = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      paths: { millrace: [join(ROOT, 'core/index.ts')], 'millrace/testing': [join(ROOT, 'local/testing/testing.ts')] },
    },
    include: [],
    files: files.map(({ file }) => file),
  };
  await writeFile(join(project.folder, 'tsconfig.json'), JSON.stringify(settings));
  // A package finds itself by its name.
  const exports = { '.': './core/index.ts', './testing': './local/testing/testing.ts' };
  await writeFile(join(project.folder, 'package.json'), JSON.stringify({ name: 'millrace', type: 'module', exports }));

  const compiled = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project.folder]).catch((error) => error);
  const [ours, theirs] = await Promise.all(
    ['functions/handlers', 'jobs'].map((folder) => loadCatalog(join(project.folder, folder), openProbe())),
  );

  expect(compiled.stdout).toBe('');
  expect([ours?.failures, theirs?.failures]).toEqual([[], []]);
  expect(ours?.handlers.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['charge_card', 'index_record.vector']),
  );
  // The handlers of docs/coming-from.md, and of the pages about a project of one's own.
  expect(theirs?.handlers.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['welcome_email', 'send_email', 'resize', 'charge_invoice', 'import_feed', 'sync_contacts']),
  );
});

it.each(of('js'))('the JavaScript of $place parses', async ({ code }) => {
  const file = join(await temporaryFolder(), 'block.mjs');
  await writeFile(file, code);

  await expect(run(process.execPath, ['--check', file])).resolves.toBeDefined();
});

it('the documents name only npm scripts and test files that exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const spoken = documents.flatMap((document) => [...commandLines(document), ...inlineCode(document)]);
  const isOurs = (line: string) => /^(npm (ci|start|test|pack|run \w+)|npx vitest run \S+)/.test(line);

  const lines = spoken.filter(isOurs);
  const unknown = lines.filter((line) => {
    const [, script] = /^npm (?:run )?(\w+)/.exec(line) ?? [];
    if (script !== undefined) return !['ci', 'pack'].includes(script) && scripts[script] === undefined;
    return !existsSync(join(ROOT, line.split(' ')[3] as string));
  });

  expect(lines.length).toBeGreaterThan(10);
  expect(unknown).toEqual([]);
  expect(scripts.start).toBe('node cli/millrace.js dev');
});

/** A story of its own runs the commands of each of these documents. */
const RUN_ELSEWHERE = ['README.md', 'docs/adopt.md', 'docs/dead-letters.md', 'docs/operations.md'];

it('the other documents contain only npm commands in their blocks', () => {
  const lines = documents.filter(({ path }) => !RUN_ELSEWHERE.includes(path)).flatMap(commandLines);
  const image = commandLines(section(readDocument('docs/deploy.md'), 'A container image or a VPC for one handler'));

  expect(
    lines.filter((line) => !/^(npm (ci|start|test|run \w+)|npx vitest run \S+)$/.test(line) && !image.includes(line)),
  ).toEqual([]);
});

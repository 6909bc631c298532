import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { elapsedTime } from './support/architecture/elapsed-time.ts';
import { environmentReader, terminalWriter } from './support/architecture/environment.ts';
import { resolveImports } from './support/architecture/imports.ts';
import { loopbackServers } from './support/architecture/listeners.ts';
import { crowdedFolders, importsAllowed, roomsOf, sharedNames } from './support/architecture/rooms.ts';
import { RULES } from './support/architecture/rules.ts';
import { readTree } from './support/architecture/source-file.ts';
import { sqlConstant, sqlHome } from './support/architecture/sql.ts';

const ROOT = new URL('../', import.meta.url).pathname;

/** Exceptions from the rules, each with its reason. A test fails for an exception that is no longer necessary. */
const EXCEPTIONS: { readonly rule: string; readonly path: string; readonly reason: string }[] = [
  {
    rule: sqlHome.name,
    path: 'local/postgres/ready.ts',
    reason: 'creates the database that all other code uses',
  },
  {
    rule: sqlConstant.name,
    path: 'local/postgres/ready.ts',
    reason: 'the name of a database cannot be a parameter; the code quotes it',
  },
  {
    rule: environmentReader.name,
    path: 'cli/millrace.js',
    reason: 'is plain JavaScript for any Node, and checks whether npm started it before it can load other modules',
  },
  {
    rule: environmentReader.name,
    path: 'cli/set-up.js',
    reason: 'is plain JavaScript for any Node, and starts npm with a PATH without the node_modules of the project',
  },
  {
    rule: environmentReader.name,
    path: 'local/lambda/bootstrap.mjs',
    reason: 'is a Lambda runtime, which receives its parameters in the environment',
  },
  {
    rule: loopbackServers.name,
    path: 'local/processes/ports.ts',
    reason: 'binds ports to find a free one, and accepts no connection',
  },
  {
    rule: loopbackServers.name,
    path: 'local/mailbox/mailbox.ts',
    reason:
      'serves SMTP, whose greeting comes first: smtp-server refuses a client that talks before it, as browsers do',
  },
  {
    rule: terminalWriter.name,
    path: 'cli/millrace.js',
    reason: 'is plain JavaScript for any Node, and prints its own messages before it can load other modules',
  },
  {
    rule: terminalWriter.name,
    path: 'cli/set-up.js',
    reason: 'is plain JavaScript for any Node, and runs before any package is installed',
  },
  {
    rule: elapsedTime.name,
    path: 'test/faults/api-scale.test.ts',
    reason: 'limits the time of an API page by the fastest of seven answers; not part of npm test',
  },
];

const tree = readTree(ROOT);

it.each(RULES)('every file follows the rule "$name"', ({ name, check }) => {
  const excepted = EXCEPTIONS.filter(({ rule }) => rule === name).map(({ path }) => path);

  const found = tree.flatMap(check).filter(({ path }) => !excepted.includes(path));

  expect(found.map(({ path, line, message }) => `${path}:${line} ${message}`)).toEqual([]);
});

it('every exception from a rule is necessary', () => {
  const needless = EXCEPTIONS.filter(({ rule, path }) => {
    const file = tree.find((candidate) => candidate.path === path);
    const { check } = RULES.find(({ name }) => name === rule)!;
    return file === undefined || check(file).length === 0;
  });

  expect(needless).toEqual([]);
});

it('every folder is small, and every file name is unique within its package', () => {
  expect(crowdedFolders(tree)).toEqual([]);
  expect(sharedNames(tree)).toEqual([]);
});

it('CONTRIBUTING lists every folder, and what each package may import', () => {
  const page = readFileSync(`${ROOT}CONTRIBUTING.md`, 'utf8');
  const rows = [...page.matchAll(/^\| `([\w/-]+\/)` \| (.+?) \|(?: (.*?) \|)?$/gm)];
  const packages = rows.filter(([, , , imports]) => imports !== undefined);

  const rooms = rows.filter(([, , , imports]) => imports === undefined).map(([, room]) => room);

  expect(rooms.toSorted()).toEqual(roomsOf(tree));
  expect(packages.map(([, folder, , imports]) => [folder, imports])).toEqual(
    packages.map(([, folder = '']) => [folder, importsAllowed(folder.slice(0, -1))]),
  );
  expect(packages.length).toBe(6);
});

it('the rules check the whole tree', () => {
  const folders = new Set(tree.map(({ path }) => path.split('/')[0]));

  expect([...folders]).toEqual(expect.arrayContaining(['core', 'infra', 'local', 'migrations', 'test']));
});

it('package.json has at most fifteen scripts, each of one word', () => {
  const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));

  const names = Object.keys(scripts);

  expect(names.length).toBeLessThanOrEqual(15);
  expect(names.filter((name) => !/^[a-z]+$/.test(name))).toEqual([]);
});

it.each(['package.json', ...['clients', 'containers', 'packages'].map((name) => `test/${name}/package.json`)])(
  'docs/decisions/dependencies.md gives a reason for every dependency of %s at its pinned version',
  (path) => {
    const manifest = JSON.parse(readFileSync(`${ROOT}${path}`, 'utf8'));
    const table = readFileSync(`${ROOT}docs/decisions/dependencies.md`, 'utf8').split('\n');
    const packages = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies };

    const unexplained = Object.entries(packages).filter(([name, version]) => {
      return !table.some((row) => row.includes(`\`${name}\``) && row.includes(`| ${version} |`));
    });

    expect(Object.keys(packages).length).toBeGreaterThan(0);
    expect(unexplained).toEqual([]);
  },
);

it.each(readdirSync(join(ROOT, 'examples'), { withFileTypes: true }).filter((entry) => entry.isDirectory()))(
  'the example $name depends on the packages of this repository at their versions',
  ({ name }) => {
    const ours = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
    const example = JSON.parse(readFileSync(`${ROOT}examples/${name}/package.json`, 'utf8'));
    const own = { millrace: ours.version, 'millrace-dev': ours.version };
    const known = { ...ours.dependencies, ...ours.devDependencies, ...own };

    const { dependencies, devDependencies, description } = example;
    const packages = Object.entries({ ...dependencies, ...devDependencies });

    expect(packages).toEqual(expect.arrayContaining(Object.entries(own)));
    expect(packages.filter(([key, version]) => known[key] !== version)).toEqual([]);
    expect({ name: example.name, description }).toEqual({ name, description: expect.any(String) });
  },
);

it('an example imports only packages and its own files', () => {
  const files = tree.filter(({ path }) => /^examples\/[^/]+\//.test(path));

  const outside = files.flatMap(resolveImports).filter(({ from, to, ours }) => {
    const [, own = ''] = /^(examples\/[^/]+\/)/.exec(from) ?? [];
    return ours && !to.startsWith(own);
  });

  expect(files.length).toBeGreaterThan(5);
  expect(outside).toEqual([]);
});

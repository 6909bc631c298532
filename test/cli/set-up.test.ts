import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MACHINE = { os: [process.platform], cpu: [process.arch] };
const LISTED = {
  'node_modules/zod': { version: '4.0.0', integrity: 'sha512-a' },
  'node_modules/pg/node_modules/zod': { version: '3.0.0', integrity: 'sha512-b' },
  'node_modules/node-of-this-machine': { version: '24.0.0', integrity: 'sha512-c', optional: true, ...MACHINE },
  'node_modules/node-elsewhere': {
    version: '24.0.0',
    integrity: 'sha512-d',
    optional: true,
    ...MACHINE,
    cpu: ['pdp11'],
  },
  'node_modules/musl-only': { version: '1.0.0', integrity: 'sha512-e', optional: true, ...MACHINE, libc: ['musl'] },
  'node_modules/of-musl-only': { version: '1.0.0', integrity: 'sha512-f', optional: true },
};
const INSTALLED = Object.fromEntries(Object.entries(LISTED).slice(0, 3));

/** Returns the output in a project with these packages, with an npm that prints its arguments. */
async function setUp(installed: object | undefined, listed: object = LISTED, args: string[] = []): Promise<string> {
  const folder = await temporaryFolder();
  const lockfile = (packages: object) => JSON.stringify({ packages });
  for (const name of ['cli', 'bin', 'node_modules']) await mkdir(join(folder, name));
  await copyFile('cli/set-up.js', join(folder, 'cli/set-up.js'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'package-lock.json'), lockfile({ '': { name: 'millrace' }, ...listed }));
  await writeFile(join(folder, 'bin/npm'), '#!/bin/sh\necho npm "$@" in "$PWD"\n', { mode: 0o755 });
  if (installed) await writeFile(join(folder, 'node_modules/.package-lock.json'), lockfile(installed));
  const PATH = `${folder}/node_modules/.bin:${folder}/bin:${process.env.PATH}`;
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'cli/set-up.js'), ...args], {
    env: { PATH },
  });
  return stdout.replaceAll(folder, 'FOLDER');
}

it('npm run build installs what npm start left out, and runs in the Node that it installs', async () => {
  const folder = await temporaryFolder();
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8'));
  const node24 = `${folder}/node_modules/.bin/node`;
  for (const name of ['cli', 'bin']) await mkdir(join(folder, name));
  await copyFile('cli/set-up.js', join(folder, 'cli/set-up.js'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages: LISTED }));
  const install = `mkdir -p '${dirname(node24)}'; printf '#!/bin/sh\\necho the new node "$@"' > '${node24}'`;
  await writeFile(join(folder, 'bin/npm'), `#!/bin/sh\n${install}; chmod +x '${node24}'\n`, { mode: 0o755 });
  const PATH = `${dirname(node24)}:${folder}/bin:${dirname(process.execPath)}:/bin:/usr/bin`;

  const { stdout } = await promisify(execFile)('sh', ['-c', scripts.build], { cwd: folder, env: { PATH } });

  expect(stdout).toMatch(/^node_modules is missing: npm ci installs .*\nthe new node packages\/build.ts\n$/);
});

it('installs nothing and prints nothing when node_modules has what package-lock.json lists', async () => {
  expect(await setUp(INSTALLED)).toBe('');
});

it('reports how much npm ci installs and runs it when node_modules is missing', async () => {
  const output = await setUp(undefined);

  expect(output).toMatch(/^node_modules is missing: npm ci installs about \d+ packages \(\d+ MB to download, /);
  expect(output).toMatch(/Node 24 and Postgres 18 included\)\.\nnpm ci --no-fund --no-audit in FOLDER\n$/);
});

it.each([
  ['another version', { ...INSTALLED, 'node_modules/zod': { version: '4.0.1', integrity: 'sha512-a' } }],
  ['another content', { ...INSTALLED, 'node_modules/zod': { version: '4.0.0', integrity: 'sha512-x' } }],
  ['one package too many', { ...INSTALLED, 'node_modules/left-pad': { version: '1.0.0', integrity: 'sha512-y' } }],
  ['one package too few', Object.fromEntries(Object.entries(INSTALLED).slice(1))],
  ['no Node for this machine', Object.fromEntries(Object.entries(INSTALLED).slice(0, 2))],
])('runs npm ci when node_modules has %s', async (_case, installed) => {
  const output = await setUp(installed);

  expect(output).toMatch(/^.*node_modules.*: npm ci installs about .*\nnpm ci /);
});

it('names the package that differs', async () => {
  const output = await setUp(INSTALLED, { ...LISTED, 'node_modules/zod': { version: '4.1.0', integrity: 'sha512-z' } });

  expect(output).toMatch(/^package-lock\.json has zod 4\.1\.0 and node_modules has 4\.0\.0: /);
});

describe('for npm start', () => {
  const dev = { version: '5.0.0', integrity: 'sha512-v', dev: true };
  const listed = { ...LISTED, 'node_modules/vitest': dev, 'node_modules/knip': dev };

  it('installs only what it requires, and says how much that is', async () => {
    const [start, all] = [await setUp(undefined, listed, ['start']), await setUp(undefined, listed)];

    expect(start).toMatch(/\(130 MB to download, .*\)\.\nnpm ci --no-fund --no-audit --omit=dev in FOLDER\n$/);
    expect(all).toMatch(/\(330 MB to download, .*\)\.\nnpm ci --no-fund --no-audit in FOLDER\n$/);
  });

  it('installs nothing more while only packages of the tests are missing; npm test then installs them', async () => {
    expect(await setUp(INSTALLED, listed, ['start'])).toBe('');
    expect(await setUp(INSTALLED, listed)).toMatch(/^node_modules lacks vitest: .*\nnpm ci --no-fund --no-audit in/);
  });

  it('keeps the packages of the tests in a folder that has some', async () => {
    const output = await setUp({ 'node_modules/vitest': dev }, listed, ['start']);

    expect(output).toMatch(/^node_modules lacks zod: .*330 MB.*\nnpm ci --no-fund --no-audit in FOLDER\n$/);
  });
});

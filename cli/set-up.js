// Plain JavaScript for any Node since 20 and without packages: `npm start` and `npm test` run it first. It installs the
// packages of package-lock.json when node_modules differs; for `npm start` (`set-up.js start`), only those that it
// requires.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Measured on Linux x64 with an empty npm cache. */
const SIZES = { start: '130 MB to download, 330 MB on disk', all: '330 MB to download, 790 MB on disk' };

/** npm keeps a list of what it has installed beside the packages. */
const LIST = 'node_modules/.package-lock.json';

const root = fileURLToPath(new URL('..', import.meta.url));
const listed = readPackages('package-lock.json');
const installed = existsSync(join(root, LIST)) ? readPackages(LIST) : undefined;
const isForStart = process.argv[2] === 'start';
const reason = findDifference();

if (reason !== undefined) {
  // A folder that has the packages of the tests keeps them.
  const isWhole = !isForStart || Object.keys(installed ?? {}).some((folder) => listed[folder]?.dev);
  const packages = Object.values(listed).filter((entry) => isInstalled(entry) && (isWhole || !entry.dev));
  const count = Math.round(packages.length / 10) * 10;
  const size = `${SIZES[isWhole ? 'all' : 'start']}, Node 24 and Postgres 18 included`;
  console.log(`${reason}: npm ci installs about ${count} packages (${size}).`);
  process.exitCode = install(isWhole ? [] : ['--omit=dev']);
}

/** Reads the packages of a lockfile by their folders, without the project itself. */
function readPackages(file) {
  const { '': _project, ...packages } = JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  return packages;
}

/** Compares node_modules with package-lock.json. */
function findDifference() {
  if (installed === undefined) return 'node_modules is missing';
  for (const [folder, { version, integrity }] of Object.entries(installed)) {
    if (listed[folder]?.version !== version || listed[folder].integrity !== integrity) {
      const expected = listed[folder]?.version ?? 'none';
      return `package-lock.json has ${nameOf(folder)} ${expected} and node_modules has ${version}`;
    }
  }
  const missing = Object.entries(listed).find(([folder, entry]) => !(folder in installed) && isRequired(entry));
  return missing && `node_modules lacks ${nameOf(missing[0])}`;
}

/** Returns whether npm installs a package: it omits optional packages for other machines, and their dependencies. */
function isRequired(entry) {
  if (isForStart && entry.dev) return false;
  return !entry.optional || (entry.os !== undefined && entry.libc === undefined && fitsThisMachine(entry));
}

/** Returns whether npm counts a package as installed: it does not count bundled packages. */
function isInstalled(entry) {
  return !entry.inBundle && (!entry.optional || entry.os !== undefined) && fitsThisMachine(entry);
}

function fitsThisMachine({ os, cpu, libc }) {
  const fits = (values, value) => values === undefined || [values].flat().includes(value);
  return fits(os, process.platform) && fits(cpu, process.arch) && fits(libc, 'glibc');
}

function nameOf(folder) {
  return folder.split('node_modules/').at(-1);
}

/** Runs npm ci without the project's node_modules on the PATH: npm would otherwise run on the Node that it replaces. */
function install(options) {
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => entry !== join(root, 'node_modules/.bin'));
  const env = { ...process.env, PATH: path.join(delimiter) };
  const { status, error } = spawnSync('npm', ['ci', '--no-fund', '--no-audit', ...options], {
    ...{ cwd: root, env, stdio: 'inherit' },
  });
  if (error) console.error(`npm cannot be run: ${error.message}`);
  return status ?? 1;
}

// Plain JavaScript for any Node since 20 and without packages: `npm start` and `npm test` run it first. It installs the
// packages of package-lock.json when node_modules differs.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Measured on Linux x64 with an empty npm cache. */
const SIZE = '340 MB to download, 820 MB on disk, Node 24 and Postgres 18 included';

const root = fileURLToPath(new URL('..', import.meta.url));
const listed = readPackages('package-lock.json');
const reason = findDifference();

if (reason !== undefined) {
  const count = Math.round(Object.values(listed).filter(isInstalled).length / 10) * 10;
  console.log(`${reason}: npm ci installs about ${count} packages (${SIZE}).`);
  process.exitCode = install();
}

/** Reads the packages of a lockfile by their folders, without the project itself. */
function readPackages(file) {
  const { '': _project, ...packages } = JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
  return packages;
}

/** Compares node_modules with package-lock.json; npm keeps a list of what it has installed beside the packages. */
function findDifference() {
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) return 'node_modules is missing';
  const installed = readPackages('node_modules/.package-lock.json');
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
function install() {
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => entry !== join(root, 'node_modules/.bin'));
  const env = { ...process.env, PATH: path.join(delimiter) };
  const { status, error } = spawnSync('npm', ['ci', '--no-fund', '--no-audit'], { cwd: root, env, stdio: 'inherit' });
  if (error) console.error(`npm cannot be run: ${error.message}`);
  return status ?? 1;
}

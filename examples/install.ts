import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPackages } from '../packages/build.ts';

const ROOT = join(import.meta.dirname, '..');

/** Contains a copy of each example, and one installation of the packages for all of them. */
export const FOLDER = join(ROOT, '.examples');

/** What the packages are built from. */
const SOURCES = ['core', 'api', 'functions', 'infra', 'local', 'cli', 'migrations', 'packages', 'templates'];
const OUTPUT = ['node_modules', '.millrace', 'cdk.out'];

/** Copies the examples, and installs the packages in them if they or their sources have changed. */
export async function install(names: readonly string[]): Promise<void> {
  for (const name of names) copy(name);
  cpSync(join(import.meta.dirname, 'tsconfig.json'), join(FOLDER, 'tsconfig.json'));
  const mark = join(FOLDER, 'installed');
  const wanted = digest(names);
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return;
  refuseSecond();
  rmSync(mark, { force: true });
  rmSync(join(FOLDER, 'node_modules'), { recursive: true, force: true });
  // Until the first release, a database of other migrations cannot be updated.
  for (const name of names) rmSync(join(FOLDER, name, '.millrace'), { recursive: true, force: true });
  console.log('building the packages millrace and millrace-dev, and installing them in .examples');
  const dist = join(FOLDER, 'dist');
  await buildPackages(dist);
  npm('pack', '--silent', '--pack-destination', 'dist', './dist/millrace', './dist/millrace-dev');
  const packed = readdirSync(dist).filter((name) => name.endsWith('.tgz'));
  const dependencies = packed.map((file) => [file.replace(/-\d.*$/, ''), `file:dist/${file}`]);
  const manifest = { private: true, workspaces: names, dependencies: Object.fromEntries(dependencies) };
  writeFileSync(join(FOLDER, 'package.json'), JSON.stringify(manifest, undefined, 2));
  npm('install', '--prefer-offline', '--no-package-lock', '--no-audit', '--no-fund', '--silent');
  writeFileSync(mark, wanted);
}

/** Two installations at the same time would delete each other's files. @throws Error if another process installs */
function refuseSecond(): void {
  const file = join(FOLDER, 'installing');
  const other = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  if (other > 0 && isRunning(other)) {
    throw new Error(
      `process ${other} installs the packages: wait until it has finished, and run npm run example again`,
    );
  }
  writeFileSync(file, String(process.pid));
  process.once('exit', () => rmSync(file, { force: true }));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Replaces the files of an example; its data remain. */
function copy(name: string): void {
  const target = join(FOLDER, name);
  mkdirSync(target, { recursive: true });
  for (const file of readdirSync(target)) {
    if (!OUTPUT.includes(file)) rmSync(join(target, file), { recursive: true });
  }
  const source = join(import.meta.dirname, name);
  const filter = (path: string) => !OUTPUT.includes(path.slice(source.length + 1));
  cpSync(source, target, { recursive: true, filter });
  const variables = join(source, '.env.example');
  if (existsSync(variables)) writeFileSync(join(target, '.env'), readFileSync(variables), { mode: 0o600 });
}

/** Returns a digest of everything that the installation depends on. */
function digest(names: readonly string[]): string {
  const hash = createHash('sha256').update(process.version);
  const files = SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name)),
  );
  const manifests = names.map((name) => join(import.meta.dirname, name, 'package.json'));
  for (const file of [...files.sort(), join(ROOT, 'package.json'), join(ROOT, 'package-lock.json'), ...manifests]) {
    hash.update(file).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/** Runs npm in the folder, without the variables of the npm that runs this process. */
function npm(...args: readonly string[]): void {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD)/i.test(name)));
  const { status } = spawnSync('npm', args, { cwd: FOLDER, env, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed in ${FOLDER}`);
}

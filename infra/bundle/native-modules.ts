import { type ExecFileSyncOptions, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { SettingError } from '../../core/errors.ts';

const LONGEST_INSTALL_MS = 300_000;
const QUIET = ['--omit=dev', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];

/**
 * Installs packages with native code into the folder of a bundle, for the platform of Lambda. The packages and their
 * dependencies have the versions and checksums in the project's `package-lock.json`, if it exists. No other part of the
 * synthesis uses the network, and this part does not if npm's cache contains the packages.
 */
export function installNative(
  folder: string,
  project: string,
  names: readonly string[],
  architecture: Architecture,
): void {
  const dependencies = Object.fromEntries(names.map((name) => [name, versionOf(project, name)]));
  const root = { private: true, dependencies };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(root));
  writeLock(join(folder, 'package-lock.json'), join(project, 'package-lock.json'), root);
  const cpu = architecture.name === Architecture.ARM_64.name ? 'arm64' : 'x64';
  const target = ['--prefer-offline', '--os=linux', `--cpu=${cpu}`, '--libc=glibc'];
  const options: ExecFileSyncOptions = {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: LONGEST_INSTALL_MS,
  };
  try {
    execFileSync('npm', ['install', ...target, ...QUIET], options);
  } catch (cause) {
    const packages = names.join(', ');
    throw new Error(`nativeModules: ${packages} could not be installed for linux ${cpu}; see the output of npm above`, {
      cause,
    });
  }
  // These files contain the time, the version of npm or packages of the project, any of which would change the asset.
  for (const lock of ['package-lock.json', 'node_modules/.package-lock.json']) {
    rmSync(join(folder, lock), { force: true });
  }
}

/** Writes the project's lockfile with another root. npm installs only the packages that the root requires. */
function writeLock(file: string, projectLock: string, root: object): void {
  if (!existsSync(projectLock)) return;
  const lock = JSON.parse(readFileSync(projectLock, 'utf8')) as { packages: object };
  writeFileSync(file, JSON.stringify({ ...lock, packages: { ...lock.packages, '': root } }));
}

function versionOf(project: string, name: string): string {
  // Packages of a monorepo are above its projects.
  for (let folder = project; ; folder = dirname(folder)) {
    const manifest = join(folder, 'node_modules', name, 'package.json');
    if (existsSync(manifest)) return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
    if (folder === dirname(folder)) break;
  }
  throw new SettingError('nativeModules', `installed packages; run npm install ${name}`, name);
}

import { type ExecFileSyncOptions, execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { SettingError } from '../../core/errors.ts';

const LONGEST_MS = 300_000;

/**
 * Installs packages with machine code into the folder of a bundle, at the versions of the project and for the machines
 * of Lambda. Takes the network, unlike all else.
 */
export function installNative(
  folder: string,
  project: string,
  names: readonly string[],
  architecture: Architecture,
): void {
  const dependencies = Object.fromEntries(names.map((name) => [name, versionOf(project, name)]));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  const cpu = architecture.name === Architecture.ARM_64.name ? 'arm64' : 'x64';
  const target = ['--os=linux', `--cpu=${cpu}`, '--libc=glibc'];
  const quiet = ['--omit=dev', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--loglevel=error'];
  const options: ExecFileSyncOptions = { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], timeout: LONGEST_MS };
  try {
    execFileSync('npm', ['install', ...target, ...quiet], options);
  } catch (cause) {
    throw new Error(`nativeModules: ${names.join(', ')} could not be installed for linux ${cpu}; npm says why above`, {
      cause,
    });
  }
  // It says when and by which npm, so that no two of them are alike.
  rmSync(join(folder, 'node_modules', '.package-lock.json'), { force: true });
}

function versionOf(project: string, name: string): string {
  const manifest = join(project, 'node_modules', name, 'package.json');
  if (existsSync(manifest)) return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
  throw new SettingError('nativeModules', `packages that are installed here; run npm install ${name}`, name);
}

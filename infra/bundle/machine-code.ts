import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SettingError } from '../../core/errors.ts';

const PACKAGE = /^(.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * Refuses a bundle whose packages load native code at run time: such a package is a folder of files, and its machine
 * code is for the platform of this machine.
 * @param inputs paths of the files in the bundle
 * @param place what precedes the sentence, such as `jobs/resize.ts: `
 * @throws SettingError that names the packages
 */
export function refuseMachineCode(inputs: Iterable<string>, folder: string, place = ''): void {
  const found = new Set<string>();
  for (const path of inputs) {
    const [, above = '', name] = PACKAGE.exec(path) ?? [];
    if (name === undefined) {
      if (path.endsWith('.node')) found.add(path);
    } else if (hasMachineCode(join(above.startsWith('/') ? '/' : folder, above, 'node_modules', name))) found.add(name);
  }
  if (found.size === 0) return;
  const names = [...found].sort();
  const list = names.map((name) => `'${name}'`).join(', ');
  const message = `nativeModules: ${names.join(', ')} contains native code: add nativeModules: [${list}] to the handler`;
  throw new SettingError('nativeModules', '', undefined, `${place}${message}`);
}

interface Manifest {
  readonly gypfile?: unknown;
  readonly binary?: unknown;
  readonly napi?: unknown;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const known = new Map<string, boolean>();

function hasMachineCode(folder: string): boolean {
  const found = known.get(folder) ?? examine(folder);
  known.set(folder, found);
  return found;
}

function examine(folder: string): boolean {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return false;
  const manifest: Manifest = JSON.parse(readFileSync(file, 'utf8'));
  if (manifest.gypfile || manifest.binary || manifest.napi || containsMachineCode(folder)) return true;
  // Machine code is often in a package for each platform, such as @img/sharp-linux-x64.
  return Object.keys(manifest.optionalDependencies ?? {}).some((name) => {
    const found = locate(folder, name);
    return found !== undefined && containsMachineCode(found);
  });
}

/** Returns the folder of a package that another one imports. */
function locate(folder: string, name: string): string | undefined {
  for (let above = folder; above !== dirname(above); above = dirname(above)) {
    const found = join(above, 'node_modules', name);
    if (existsSync(found)) return found;
  }
  return undefined;
}

function containsMachineCode(folder: string): boolean {
  return readdirSync(folder, { withFileTypes: true }).some((entry) => {
    if (entry.name === 'binding.gyp' || (entry.isFile() && entry.name.endsWith('.node'))) return true;
    return entry.isDirectory() && entry.name !== 'node_modules' && containsMachineCode(join(folder, entry.name));
  });
}

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Returns the path of a file of Millrace, such as `migrations`: in the clone or package whose code runs here, or in the
 * package `millrace` on which this one depends. Bundles are at any depth, so the root is the nearest folder above that
 * has a package.json. The file can be missing: the bundle of a function has only what is copied beside it.
 */
export function ownFile(path: string): string {
  const own = join(rootOf(import.meta.dirname), path);
  if (existsSync(own)) return own;
  try {
    return join(dirname(createRequire(import.meta.url).resolve('millrace/package.json')), path);
  } catch {
    return own;
  }
}

/** Returns the file of a module, given by its path in a clone without its suffix: a source, or a compiled module. */
export function ownModule(path: string): string {
  const source = ownFile(`${path}.ts`);
  return existsSync(source) ? source : ownFile(`dist/${path}.js`);
}

/** Returns the version of Millrace, not that of the project it runs in. */
export function ownVersion(): string {
  return String(JSON.parse(readFileSync(ownFile('package.json'), 'utf8')).version);
}

function rootOf(folder: string): string {
  const above = dirname(folder);
  return above === folder || existsSync(join(folder, 'package.json')) ? folder : rootOf(above);
}

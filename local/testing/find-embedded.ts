import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ownVersion } from '../../core/own-files.ts';
import { embeddedFolder } from '../postgres/binaries.ts';

/** The Postgres of the package `millrace-dev`. */
export interface Embedded {
  /** The module, as a path or URL, whose package depends on it. */
  readonly from: string;
  /** Its major release. */
  readonly release: string;
}

/**
 * Finds Postgres in the package `millrace-dev`, which the project installed, or beside this package, as in a clone.
 * @throws Error that names the package and the command
 */
export function findEmbedded(): Embedded {
  const from = [developmentPackage(), import.meta.url].find((one) => one !== undefined && has(one));
  if (from === undefined) {
    throw new Error(
      'openTestDatabase requires the package millrace-dev, which contains Postgres: run ' +
        `npm install --save-dev millrace-dev@${ownVersion()}, or set MILLRACE_TEST_DATABASE_URL to a Postgres server`,
    );
  }
  const { version } = JSON.parse(readFileSync(join(embeddedFolder(from), 'package.json'), 'utf8'));
  return { from, release: String(version).split('.')[0] ?? '' };
}

/** Returns the manifest of the package, as the library or the project that runs the tests finds it. */
function developmentPackage(): string | undefined {
  const places = [import.meta.url, pathToFileURL(join(process.cwd(), 'package.json')).href];
  for (const place of places) {
    try {
      return createRequire(place).resolve('millrace-dev/package.json');
    } catch {
      // The next place may have it.
    }
  }
  return undefined;
}

function has(from: string): boolean {
  try {
    embeddedFolder(from);
    return true;
  } catch {
    return false;
  }
}

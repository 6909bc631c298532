import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** Returns the version of Millrace, not that of the project it runs in. */
export function readVersion(): string {
  const manifest = findPackageJSON(import.meta.url);
  const { version } = JSON.parse(manifest === undefined ? '{}' : readFileSync(manifest, 'utf8'));
  return String(version);
}

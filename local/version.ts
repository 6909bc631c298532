import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** Of Millrace, not of the project that it runs in. */
export function readVersion(): string {
  const manifest = findPackageJSON(import.meta.url);
  const { version } = JSON.parse(manifest === undefined ? '{}' : readFileSync(manifest, 'utf8'));
  return String(version);
}

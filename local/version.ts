import { readFileSync } from 'node:fs';
import { ownFile } from '../core/own-files.ts';

/** Returns the version of Millrace, not that of the project it runs in. */
export function readVersion(): string {
  return String(JSON.parse(readFileSync(ownFile('package.json'), 'utf8')).version);
}

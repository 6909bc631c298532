import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Has the launcher make its bundle once, which otherwise every test file would do that comes first. */
export default async function setup(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../../cli/millrace.js'), '--version']);
}

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Makes the launcher build its bundle before the tests; otherwise the first test files would each build it. */
export default async function setup(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, '../../cli/millrace.js'), '--version']);
}

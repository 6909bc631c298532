import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Children } from '../../local/processes/children.ts';
import { freePort } from '../../local/processes/ports.ts';
import { eventually } from '../support/eventually.ts';

export interface Moto {
  /** Account and region in the format of the CDK command. */
  readonly account: string;
  /** Runs `npx cdk` and returns its output; throws when it fails. */
  cdk(...args: readonly string[]): Promise<string>;
  /** Runs a script in this folder with `input`, and returns its output. */
  python(script: string, args: readonly string[], input?: string): Promise<string>;
  /** Returns the output of the server so far. */
  log(): Promise<string>;
}

const ROOT = resolve(import.meta.dirname, '../..');
const REGION = 'us-east-1';

/** Starts the moto in the folder `MILLRACE_MOTO` on loopback, with its files in `folder`. */
export async function startMoto(children: Children, folder: string): Promise<Moto> {
  const bin = process.env.MILLRACE_MOTO;
  if (bin === undefined) throw new Error('MILLRACE_MOTO is not set: start with .ci/moto-template.sh');
  const port = await freePort();
  const output = join(folder, 'moto.log');
  const home = join(folder, 'home');
  await mkdir(home);
  const command = ['-c', `exec "$0" -H 127.0.0.1 -p ${port} > ${output} 2>&1`, join(bin, 'moto_server')];
  children.spawn('sh', command, { cwd: folder, stdio: ['ignore', 'ignore', 'ignore'] });
  const endpoint = `http://127.0.0.1:${port}`;
  await eventually(async () => (await fetch(`${endpoint}/moto-api/data.json`)).text(), { timeout: 60_000 });
  const environment = {
    ...{ PATH: process.env.PATH ?? '', HOME: home, AWS_REGION: REGION, AWS_DEFAULT_REGION: REGION },
    // moto splits the host name of a template's URL at dots, except for localhost.
    ...{ AWS_ENDPOINT_URL: endpoint, AWS_ENDPOINT_URL_S3_FOR_CLOUDFORMATION: `http://localhost:${port}` },
    ...{ AWS_ACCESS_KEY_ID: 'moto', AWS_SECRET_ACCESS_KEY: 'moto', AWS_EC2_METADATA_DISABLED: 'true' },
    ...{ CDK_DISABLE_CLI_TELEMETRY: 'true', CI: 'true', NO_COLOR: '1' },
  };
  const run = async (command: string, args: readonly string[], input = ''): Promise<string> => {
    const running = promisify(execFile)(command, args, { cwd: ROOT, env: environment, maxBuffer: 50_000_000 });
    running.child.stdin?.end(input);
    return (await running).stdout;
  };
  return {
    account: `aws://123456789012/${REGION}`,
    cdk: (...args) => run('npx', ['cdk', '--no-notices', ...args]),
    python: (script, args, input) => run(join(bin, 'python'), [join(import.meta.dirname, script), ...args], input),
    log: () => readFile(output, 'utf8'),
  };
}

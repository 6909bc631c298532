import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Children } from '../../local/processes/children.ts';
import { freePort } from '../../local/processes/ports.ts';
import { eventually } from '../support/eventually.ts';
import { openSqs, TASK_ROOT } from './emulator-faults.ts';

/** What stands for AWS in the rehearsal. */
export interface Cloud {
  readonly endpoint: string;
  /** As the CDK command names it: account and region. */
  readonly account: string;
  /** For the CDK command. */
  readonly environment: Readonly<Record<string, string>>;
  /** For clients of the SDK. */
  readonly client: {
    readonly endpoint: string;
    readonly region: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  /** Everything it has printed so far, the functions' own lines among it. */
  log(): Promise<string>;
  /** Ends what stands before it; itself it is a child. */
  close(): void;
}

const REGION = 'us-east-1';
const KEY = 'rehearsal';

/** Starts the MiniStack at `MILLRACE_MINISTACK` on loopback; its files lie in `folder`. */
export async function startMiniStack(children: Children, folder: string): Promise<Cloud> {
  const command = process.env.MILLRACE_MINISTACK;
  if (command === undefined) throw new Error('MILLRACE_MINISTACK is not set: start with `npm run rehearse`');
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const sqs = await openSqs(endpoint);
  const bin = await makeNode(folder, sqs.endpoint);
  const home = join(folder, 'home');
  await mkdir(home);
  const output = join(folder, 'ministack.log');
  children.spawn('sh', ['-c', `exec "$0" > ${output} 2>&1`, command], {
    cwd: folder,
    env: {
      ...{ PATH: `${bin}:${process.env.PATH ?? ''}`, HOME: home, TMPDIR: folder },
      ...{ BIND_HOST: '127.0.0.1', GATEWAY_PORT: String(port) },
      ...{ S3_DATA_DIR: join(folder, 's3'), STATE_DIR: join(folder, 'state') },
    },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  await eventually(async () => (await fetch(`${endpoint}/_ministack/health`)).text(), { timeout: 60_000 });
  const environment = {
    ...{ PATH: process.env.PATH ?? '', HOME: home, AWS_ENDPOINT_URL: endpoint, AWS_REGION: REGION },
    ...{ AWS_ACCESS_KEY_ID: KEY, AWS_SECRET_ACCESS_KEY: KEY, AWS_EC2_METADATA_DISABLED: 'true' },
    ...{ CDK_DISABLE_CLI_TELEMETRY: 'true', CI: 'true', NO_COLOR: '1' },
  };
  const client = { endpoint, region: REGION, credentials: { accessKeyId: KEY, secretAccessKey: KEY } };
  return {
    endpoint,
    account: `aws://000000000000/${REGION}`,
    environment,
    client,
    log: () => readFile(output, 'utf8'),
    close: sqs.close,
  };
}

/**
 * The `node` that MiniStack finds first: it runs functions in a folder of its own, where Lambda has `/var/task`. In a
 * mount namespace of its own each process sees it there, and this machine's `/var` is as it was.
 */
async function makeNode(folder: string, sqs: string): Promise<string> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const mounts = `mount -t tmpfs none /var && mkdir ${TASK_ROOT} && mount --bind "$LAMBDA_TASK_ROOT" ${TASK_ROOT}`;
  const script = `exec unshare --mount --map-root-user sh -c '${mounts} && exec "$0" "$@"' ${process.execPath} "$@"`;
  const inside = `[ -n "$LAMBDA_TASK_ROOT" ] || exec ${process.execPath} "$@"`;
  await writeFile(join(bin, 'node'), `#!/bin/sh\n${inside}\nexport AWS_ENDPOINT_URL_SQS=${sqs}\n${script}\n`);
  await chmod(join(bin, 'node'), 0o755);
  return bin;
}

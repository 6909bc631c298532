import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Children } from '../../local/processes/children.ts';
import { freePort } from '../../local/processes/ports.ts';
import { eventually } from '../support/eventually.ts';
import { openSqsProxy, TASK_ROOT } from './emulator-faults.ts';

/** The emulator of AWS in the rehearsal. */
export interface Cloud {
  readonly endpoint: string;
  /** Account and region in the format of the CDK command. */
  readonly account: string;
  /** Environment of the CDK command. */
  readonly environment: Readonly<Record<string, string>>;
  /** Configuration of SDK clients. */
  readonly client: {
    readonly endpoint: string;
    readonly region: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  };
  /** Ends the processes of a function, which must be idle, as Lambda does after some minutes. MiniStack keeps one. */
  endProcesses(functionName: string): Promise<void>;
  /** Returns its output so far, including the logs of functions. */
  log(): Promise<string>;
  /** Closes the SQS proxy. MiniStack itself is one of `children`. */
  close(): void;
}

const REGION = 'us-east-1';
const KEY = 'rehearsal';
/** Folder with a file of process ids for each function. */
const PROCESSES = 'processes';

/**
 * Starts the MiniStack at `MILLRACE_MINISTACK` on loopback, with its files in `folder`.
 * @param ca file of the authority whose certificates it accepts; without it, those of this machine
 */
export async function startMiniStack(children: Children, folder: string, ca?: string): Promise<Cloud> {
  const command = process.env.MILLRACE_MINISTACK;
  if (command === undefined) throw new Error('MILLRACE_MINISTACK is not set: start with `npm run rehearse`');
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const sqs = await openSqsProxy(endpoint);
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
      ...(ca !== undefined && { SSL_CERT_FILE: ca }),
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
    endProcesses: async (name) => {
      for (const id of (await readFile(join(folder, PROCESSES, name), 'utf8')).split('\n')) {
        if (id !== '') process.kill(Number(id));
      }
      await rm(join(folder, PROCESSES, name));
    },
    log: () => readFile(output, 'utf8'),
    close: sqs.close,
  };
}

/**
 * Writes the `node` that MiniStack finds first in its PATH. MiniStack runs functions in its own folder, and Lambda in
 * `/var/task`. In a mount namespace, each process sees its folder there, and `/var` on this machine stays unchanged.
 */
async function makeNode(folder: string, sqs: string): Promise<string> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await mkdir(join(folder, PROCESSES));
  // The programs that follow replace this shell, and keep its process id.
  const note = `echo $$ >> ${join(folder, PROCESSES)}/$AWS_LAMBDA_FUNCTION_NAME`;
  const mounts = `mount -t tmpfs none /var && mkdir ${TASK_ROOT} && mount --bind "$LAMBDA_TASK_ROOT" ${TASK_ROOT}`;
  const script = `exec unshare --mount --map-root-user sh -c '${mounts} && exec "$0" "$@"' ${process.execPath} "$@"`;
  const inside = `[ -n "$LAMBDA_TASK_ROOT" ] || exec ${process.execPath} "$@"`;
  await writeFile(join(bin, 'node'), `#!/bin/sh\n${inside}\n${note}\nexport AWS_ENDPOINT_URL_SQS=${sqs}\n${script}\n`);
  await chmod(join(bin, 'node'), 0o755);
  return bin;
}

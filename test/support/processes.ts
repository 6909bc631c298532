import { readdir, readFile, readlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { expect } from 'vitest';
import type { DevState } from '../../local/state.ts';
import { eventually } from './eventually.ts';

/** Returns the command lines of running processes whose working directory, arguments or environment name a folder. */
export async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    pids.map(async (pid) => {
      const [stat, cwd, command, variables] = await Promise.all([
        readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
        readlink(`/proc/${pid}/cwd`).catch(() => ''),
        ...['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')),
      ]);
      const zombie = /\) [ZX] /.test(stat ?? '');
      const ours = [cwd, command, variables].some((text) => text?.includes(folder));
      return ours && !zombie ? `${pid} ${command?.replaceAll('\0', ' ')}` : undefined;
    }),
  );
  return lines.filter((line) => line !== undefined);
}

/** Returns whether a process listens on a loopback port. */
function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Expects that a stopped stack has left no process and no open port. */
export async function expectNothingLeft(folder: string, state: DevState): Promise<void> {
  await expectNoProcess(folder);
  const addresses = [
    state.databaseUrl,
    state.sqsEndpoint,
    state.lambdaEndpoint,
    state.smtpUrl,
    state.filesUrl,
    state.apiUrl,
  ];
  // Another stack that starts now may already have one of the ports, but not all of them.
  const open = await Promise.all(addresses.map((address) => isOpen(Number(new URL(address).port))));
  expect(open.filter(Boolean).length).toBeLessThan(addresses.length);
}

export async function expectNoProcess(folder: string): Promise<void> {
  await eventually(async () => expect(await processesOf(folder)).toEqual([]));
}

import { readdir, readFile, readlink } from 'node:fs/promises';
import { connect } from 'node:net';

/** Command lines of the living processes that work in a folder, name it, or were started with it in their environment. */
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

/** Whether anybody listens on a loopback port. */
export function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

import { open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Child, Children } from '../processes/children.ts';
import type { Binaries } from './binaries.ts';
import type { Owner } from './owner.ts';

/** A server process, which may not be ready yet. */
export interface ServerProcess extends Pick<Child, 'pid' | 'kill' | 'exited'> {
  /** Returns the log since the launch. */
  log(): Promise<string>;
}

export interface Launch {
  readonly children: Children;
  readonly folder: string;
  readonly binaries: Binaries;
  readonly owner: Owner | undefined;
  readonly settings: Readonly<Record<string, string>>;
}

const LOG_LIMIT_BYTES = 10_000_000;

/** Starts `postgres`, with its log in `<folder>.log`. */
export async function launchServer({ children, folder, binaries, owner, settings }: Launch): Promise<ServerProcess> {
  const logPath = `${folder}.log`;
  const size = await stat(logPath).then(
    (file) => file.size,
    () => 0,
  );
  const log = await open(logPath, size > LOG_LIMIT_BYTES ? 'w' : 'a', 0o600);
  const start = (await log.stat()).size;
  const args = ['-D', folder, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  try {
    const { pid, kill, exited } = children.spawn(join(binaries.bin, 'postgres'), args, {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', LC_ALL: 'C', ...binaries.env },
      stdio: ['ignore', log.fd, log.fd],
      lastSignal: 'INT',
      ...(owner === undefined ? {} : { uid: owner.uid, gid: owner.gid }),
    });
    return { pid, kill, exited, log: async () => (await readFile(logPath)).subarray(start).toString('utf8') };
  } finally {
    await log.close();
  }
}

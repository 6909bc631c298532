import { execFileSync, spawn } from 'node:child_process';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../../local/processes/ports.ts';
import { eventually } from './eventually.ts';
import { runAs } from './own-servers.ts';
import { ask } from './postgres-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Returns the version of the installed PgBouncer. If PgBouncer is missing, prints why tests are skipped. */
export function findPgBouncer(): string | undefined {
  try {
    const [version] = /PgBouncer [\d.]+/.exec(execFileSync('pgbouncer', ['--version'], PATH).toString()) ?? [];
    console.log(`${version} is installed on this machine`);
    return version;
  } catch (error) {
    if (process.env.MILLRACE_TEST_PGBOUNCER !== undefined) throw error;
    console.log('PgBouncer: not run: it is not installed (apt-get install pgbouncer)');
    return undefined;
  }
}

const PATH = { env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` } };

/** Starts PgBouncer in transaction mode, and returns the address of the same database through it. */
export async function startPgBouncer(url: string, { poolSize = 50 } = {}): Promise<string> {
  const { hostname, port, username, password } = new URL(url);
  const folder = await temporaryFolder();
  const own = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const login = `user=${username} password='${decodeURIComponent(password)}'`;
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port} ${login} pool_size=${poolSize}`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${own}`, 'unix_socket_dir =', 'auth_type = any'],
    ...['pool_mode = transaction', `logfile = ${join(folder, 'log')}`],
  ];
  await writeFile(file, lines.join('\n'));
  await chmod(folder, 0o755);
  const account = await runAs(folder);
  // PgBouncer refuses to run as root.
  if (account.uid !== undefined && account.gid !== undefined) await chown(folder, account.uid, account.gid);
  const child = spawn('pgbouncer', [file], { ...PATH, ...account, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const through = new URL(url);
  through.port = String(own);
  await eventually(() => ask(through.href, 'select 1'));
  return through.href;
}

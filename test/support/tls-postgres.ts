import { chmod, chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { generate } from 'selfsigned';
import { startPostgres } from '../../local/postgres/postgres.ts';
import { openChildren } from '../../local/processes/children.ts';

/** Creates a self-signed certificate for `localhost` only. */
export async function certify() {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keySize: 2048,
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  });
  return { certificate: cert, key };
}

/** Enables TLS in a running server, which reads the files from its data folder. */
export async function useTls(server: { folder: string; url: string }, tls: Awaited<ReturnType<typeof certify>>) {
  const { uid, gid } = await stat(server.folder);
  for (const [name, text] of [
    ['server.crt', tls.certificate],
    ['server.key', tls.key],
  ] as const) {
    const path = join(server.folder, name);
    await writeFile(path, text);
    await chmod(path, 0o600);
    await chown(path, uid, gid);
  }
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query('alter system set ssl = on');
  await client.query('select pg_reload_conf()');
  await client.end();
}

/** Starts a Postgres for this test file. */
export async function startOwnPostgres() {
  const children = openChildren();
  const folder = await mkdtemp(join(tmpdir(), 'millrace-tls-'));
  // Under root, the server runs as another account, which requires access.
  await chmod(folder, 0o755);
  const server = await startPostgres({ children, folder: join(folder, 'data') });
  const stop = async () => {
    await server.stop();
    await children.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { ...server, stop };
}

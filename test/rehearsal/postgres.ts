import { execFile } from 'node:child_process';
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chooseOwner } from '../../local/postgres/owner.ts';
import { type PostgresServer, startPostgres } from '../../local/postgres/postgres.ts';
import type { Children } from '../../local/processes/children.ts';

const run = promisify(execFile);

/** A Postgres with TLS, and the files of its certificate, which is valid for 127.0.0.1. */
export interface SecureDatabase extends PostgresServer {
  /** Certificate of the authority that signed `certificate`. */
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

export async function startSecureDatabase(children: Children, folder: string): Promise<SecureDatabase> {
  const data = join(folder, 'data');
  const { ca, certificate, key } = await makeCertificates(join(folder, 'tls'));
  const owner = await chooseOwner(data);
  if (owner) await chown(key, owner.uid, owner.gid);
  const settings = { ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key, fsync: 'off' };
  return { ...(await startPostgres({ children, folder: data, settings })), ca, certificate, key };
}

async function makeCertificates(folder: string) {
  await mkdir(folder, { mode: 0o755 });
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder });
  const newKey = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  await openssl(...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Rehearsal CA');
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-addext', 'basicConstraints=critical,CA:false'];
  const names = ['-subj', '/CN=database', '-addext', 'subjectAltName=IP:127.0.0.1'];
  await openssl(...newKey, '-keyout', 'server.key', '-out', 'server.pem', ...names, ...signed);
  return { ca: join(folder, 'ca.pem'), certificate: join(folder, 'server.pem'), key: join(folder, 'server.key') };
}

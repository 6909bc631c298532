import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { ask } from '../../support/postgres-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { certify, startOwnPostgres, useTls } from '../../support/tls-postgres.ts';
import { runCli } from '../run-cli.ts';

/** An address that reaches this machine but is not a loopback address, so it counts as another machine. */
const OTHER_MACHINE = '0.0.0.0';
const IS_ENCRYPTED = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';

let server: Awaited<ReturnType<typeof startOwnPostgres>>;
let tls: Awaited<ReturnType<typeof certify>>;
beforeAll(async () => {
  [server, tls] = await Promise.all([startOwnPostgres(), certify()]);
  await useTls(server, tls);
});
afterAll(() => server.stop());

function addressOf(url: string, host: string, parameters: string): string {
  const address = new URL(url);
  address.hostname = host;
  return `${address.href}${parameters}`;
}

/** Runs a command that opens one connection, and returns what it prints. */
async function isEncrypted(url: string, host: string, parameters: string) {
  const { code, stdout, stderr } = await runCli(['sql', IS_ENCRYPTED], {
    env: { DATABASE_URL: addressOf(url, host, parameters) },
  });
  const { password } = new URL(url);
  expect(stdout + stderr).not.toContain(password);
  return code === 0 ? stdout.trim() : { code, reason: stderr.trim().replace(/^error: cannot reach \S+: /, '') };
}

const UNENCRYPTED = expect.stringMatching(/^the server does not support TLS: .* sslmode=disable$/);

describe('a server without TLS', () => {
  const { url } = inject('postgres');

  it.each([
    [OTHER_MACHINE, '', { code: 7, reason: UNENCRYPTED }],
    [OTHER_MACHINE, '?application_name=x', { code: 7, reason: UNENCRYPTED }],
    [OTHER_MACHINE, '?sslmode=require', { code: 7, reason: UNENCRYPTED }],
    ['127.0.0.1', '?sslmode=verify-full', { code: 7, reason: UNENCRYPTED }],
    [OTHER_MACHINE, '?sslmode=disable', 'f'],
    [OTHER_MACHINE, '?sslmode=allow', 'f'],
    [OTHER_MACHINE, '?sslmode=prefer', 'f'],
    ['127.0.0.1', '?sslmode=prefer', 'f'],
    ['127.0.0.1', '', 'f'],
  ])('accepts or refuses a connection at %s with %j', async (host, parameters, expected) => {
    expect(await isEncrypted(url, host, parameters)).toEqual(expected);
  });

  it('that requests the password receives neither the password nor the user name', async () => {
    const received: Buffer[] = [];
    const greedy = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        received.push(chunk);
        // AuthenticationCleartextPassword
        socket.write(received.length === 1 ? 'N' : Buffer.from('520000000800000003', 'hex'));
      });
    });
    await new Promise<void>((resolve) => greedy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void greedy.close());
    const { port } = greedy.address() as AddressInfo;

    for (const command of [['doctor'], ['migrate'], ['jobs', 'list'], ['sql', 'select 1']]) {
      received.length = 0;
      const url = `postgres://operator:S3cretPW@${OTHER_MACHINE}:${port}/prod`;
      await runCli([...command, '--database-url', url]);

      // The client sent only the request for TLS.
      expect(Buffer.concat(received).length % 8).toBe(0);
      expect(Buffer.concat(received).toString('latin1')).not.toMatch(/operator|S3cret|prod/);
    }
  });
});

describe('a server with a private certificate for localhost', () => {
  const untrusted = (code: string) => ({
    code: 7,
    reason: expect.stringMatching(
      new RegExp(`^the certificate of the server is not trusted \\(${code}\\): .*sslmode=require$`),
    ),
  });

  it.each([
    [OTHER_MACHINE, '', untrusted('DEPTH_ZERO_SELF_SIGNED_CERT')],
    [OTHER_MACHINE, '?sslmode=verify-ca', untrusted('DEPTH_ZERO_SELF_SIGNED_CERT')],
    ['localhost', '?sslmode=verify-full', untrusted('DEPTH_ZERO_SELF_SIGNED_CERT')],
    ['localhost', '?sslrootcert=FILE', 't'],
    ['localhost', '?sslmode=verify-full&sslrootcert=FILE', 't'],
    [OTHER_MACHINE, '?sslrootcert=FILE', untrusted('ERR_TLS_CERT_ALTNAME_INVALID')],
    [OTHER_MACHINE, '?sslmode=verify-ca&sslrootcert=FILE', 't'],
    [OTHER_MACHINE, '?sslmode=require&sslrootcert=FILE', 't'],
    [OTHER_MACHINE, '?sslmode=require', 't'],
    [OTHER_MACHINE, '?sslmode=no-verify', 't'],
    [OTHER_MACHINE, '?sslmode=prefer', 't'],
    [OTHER_MACHINE, '?sslmode=allow', 'f'],
    [OTHER_MACHINE, '?sslmode=disable', 'f'],
    ['127.0.0.1', '', 'f'],
  ])('accepts or refuses a connection at %s with %j', async (host, parameters, expected) => {
    const file = join(await temporaryFolder(), 'root.pem');
    await writeFile(file, tls.certificate);

    const answer = await isEncrypted(server.url, host, parameters.replace('FILE', encodeURIComponent(file)));

    expect(answer).toEqual(expected);
  });

  it.each([
    ['hostnossl', 'allow', 't'],
    ['hostssl', 'prefer', 'f'],
  ])('that refuses %s is reached the other way with sslmode=%s', async (kind, mode, expected) => {
    const file = join(server.folder, 'pg_hba.conf');
    const before = await readFile(file, 'utf8');
    await writeFile(file, `${kind} all all all reject\n${before}`);
    const other = addressOf(server.url, '127.0.0.1', kind === 'hostssl' ? '' : '?sslmode=no-verify');
    await ask(other, 'select pg_reload_conf()');

    await expect.poll(() => isEncrypted(server.url, OTHER_MACHINE, `?sslmode=${mode}`)).toBe(expected);
    const { code } = await runCli(['migrate', 'status', '--json'], {
      env: { DATABASE_URL: addressOf(server.url, OTHER_MACHINE, `?sslmode=${mode}`) },
    });

    await writeFile(file, before);
    await ask(other, 'select pg_reload_conf()');
    expect(code).toBe(1);
  });
});

import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { serversOf } from '../../../core/postgres/address.ts';

const REMOTE = 'db.example.com';

/** Returns the kind of each connection to try: `plain`, `unverified`, `chain` (accepts any name) or `verified`. */
function ways(host: string, parameters: string): string[] {
  return serversOf(`postgres://u:p@${host}/d${parameters}`).map(({ ssl }) => {
    if (ssl === false) return 'plain';
    if (ssl.rejectUnauthorized === false) return 'unverified';
    const refusesName = ssl.checkServerIdentity?.('x', { subject: { CN: 'other' } } as never) instanceof Error;
    return refusesName ? 'verified' : 'chain';
  });
}

describe('sslmode', () => {
  it.each([
    ['disable', ['plain']],
    ['allow', ['plain', 'unverified']],
    ['prefer', ['unverified', 'plain']],
    ['require', ['unverified']],
    ['no-verify', ['unverified']],
    ['verify-ca', ['chain']],
    ['verify-full', ['verified']],
  ])('%s has the same meaning as for libpq, for any host', (mode, expected) => {
    expect(ways(REMOTE, `?sslmode=${mode}`)).toEqual(expected);
    expect(ways('127.0.0.1', `?sslmode=${mode}`)).toEqual(expected);
  });

  it.each([REMOTE, '192.0.2.1', '10.0.0.7', '[2001:db8::1]', '0.0.0.0', 'localhost.example.com', '127.0.0.1.nip.io'])(
    'if missing, a connection to %s is encrypted and verified',
    (host) => {
      expect(ways(host, '')).toEqual(['verified']);
      expect(ways(host, '?application_name=x&connect_timeout=5')).toEqual(['verified']);
      expect(ways(host, '?ssl=true')).toEqual(['verified']);
    },
  );

  it.each(['localhost', '127.0.0.1', '127.0.0.53', '[::1]', ''])(
    'if missing, a connection to %j on this machine is not encrypted',
    (host) => {
      const address = host === '' ? 'postgres:///d' : `postgres://u@${host}/d`;

      expect(serversOf(address).map(({ ssl }) => ssl)).toEqual([false]);
    },
  );

  it('never encrypts a connection to a socket', () => {
    const [server, ...others] = serversOf('postgres:///d?host=/var/run/postgresql&sslmode=verify-full&user=u');

    expect(server).toMatchObject({ host: '/var/run/postgresql', user: 'u', ssl: false });
    expect(others).toEqual([]);
  });

  it('applies to the host in the parameters, which replaces the host in the authority', () => {
    expect(ways('127.0.0.1', `?host=${REMOTE}`)).toEqual(['verified']);
  });

  it.each([['sslmode=on'], ['sslmode='], ['sslmode=verify_full'], ['sslrootcert=/nowhere.pem']])(
    'is refused in one sentence without the address: %s',
    (parameter) => {
      const refused = () => serversOf(`postgres://u:SECRET@${REMOTE}/d?${parameter}`);

      expect(refused).toThrow(/^(sslmode: expected one of disable, .*|sslrootcert: expected the path of .*)$/);
      expect(refused).not.toThrow(/SECRET/);
    },
  );
});

describe('an address', () => {
  it('defines every parameter of the connection', () => {
    const address = 'postgres://us%40r:p%2Fw@[::1]:6000/na%20me?application_name=mine&options=-c%20geqo%3Doff';

    expect(serversOf(address)).toEqual([
      {
        ...{ host: '::1', port: 6000, user: 'us@r', password: 'p/w', database: 'na me' },
        ...{ ssl: false, sslnegotiation: 'postgres' },
        session: { application_name: 'mine', options: '-c geqo=off' },
      },
    ]);
  });

  it('has the defaults of psql, independent of variables', () => {
    const { username } = userInfo();

    expect(serversOf('postgres://')).toMatchObject([
      { host: 'localhost', port: 5432, user: username, password: '', database: username },
    ]);
  });

  it.each(['mysql://u:SECRET@h/d', 'SECRET', 'postgres://u:SECRET%zz@h/d', 'postgres://u:SECRET@h:99999/d'])(
    'is refused in a message without the password: %s',
    (address) => {
      expect(() => serversOf(address)).toThrow(/^the address of the database: expected postgres:/);
      expect(() => serversOf(address)).not.toThrow(/SECRET/);
    },
  );
});

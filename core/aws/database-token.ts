import { SignatureV4 } from '@smithy/signature-v4';
import { openSqs } from './clients.ts';

/** A login of a database of RDS or Aurora. */
export interface DatabaseUser {
  /** As RDS states it: a token for another name of the same host is refused. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
}

/** RDS accepts no token that is older. It checks a token only while a connection is opened. */
const VALID_SECONDS = 900;

/**
 * Returns a function that makes a password of the user, from the AWS credentials of this process: the address of a
 * signed request, which is never sent. Requires the permission `rds-db:connect`.
 */
export function openDatabaseTokens({ host: hostname, port, user }: DatabaseUser): () => Promise<string> {
  // A client is the way of the SDK to the credentials, the region and the hash. It sends nothing.
  const { config } = openSqs({});
  return async () => {
    const signer = new SignatureV4({
      service: 'rds-db',
      region: await config.region(),
      credentials: config.credentials,
      sha256: config.sha256,
    });
    const host = `${hostname}:${port}`;
    const request = { method: 'GET', protocol: 'https:', hostname, port, path: '/', headers: { host } };
    const query = { Action: 'connect', DBUser: user };
    const signed = await signer.presign({ ...request, query }, { expiresIn: VALID_SECONDS });
    const pairs = Object.entries(signed.query ?? {}).map((pair) => pair.map(encode).join('='));
    return `${host}/?${pairs.sort().join('&')}`;
  };
}

function encode(part: string | string[] | null): string {
  return encodeURIComponent(String(part));
}

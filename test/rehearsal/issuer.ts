import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { SecureDatabase } from './postgres.ts';

const KEY_ID = 'first';

/** An issuer of tokens, whose discovery document names the address of its keys. */
export interface Issuer {
  readonly url: string;
  /** Returns a token that expires in an hour. */
  sign(claims: Readonly<Record<string, string>>): Promise<string>;
  /** Returns the same token with the signature of another key. */
  forge(claims: Readonly<Record<string, string>>): Promise<string>;
  close(): void;
}

/** Starts an issuer on loopback with the certificate of the database. */
export async function openIssuer({ certificate, key }: SecureDatabase): Promise<Issuer> {
  const [own, other] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
  const jwk = { ...(await exportJWK(own.publicKey)), kid: KEY_ID, alg: 'RS256', use: 'sig' };
  const server = createServer({ cert: await readFile(certificate), key: await readFile(key) });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const documents: Readonly<Record<string, object>> = {
    '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/published/keys` },
    '/published/keys': { keys: [jwk] },
  };
  server.on('request', ({ url: path = '' }, response) => {
    response.statusCode = documents[path] ? 200 : 404;
    response.end(JSON.stringify(documents[path] ?? {}));
  });
  const signer = (privateKey: typeof own.privateKey) => (claims: Readonly<Record<string, string>>) =>
    new SignJWT({ iss: url, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: KEY_ID })
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey);
  return {
    ...{ url, sign: signer(own.privateKey), forge: signer(other.privateKey) },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

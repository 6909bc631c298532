import { createRemoteJWKSet, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { isSecure, type TokenSettings, wellKnown } from '../../core/access/token-settings.ts';
import { messageOf } from '../../core/failure.ts';
import { asClaims, type Claims } from './gateway-claims.ts';

/** What the authorizer decides: the claims for the function, or the header `WWW-Authenticate` of a 401. */
export type Authorization = { readonly claims: Claims } | { readonly challenge: string };

/** Decides on the value of the header `Authorization`. */
export type Authorize = (header: string | undefined) => Promise<Authorization>;

/** API Gateway accepts no other signatures, although it documents only that they must be RSA. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512'];
const FETCH_MS = 3000;

/**
 * Verifies tokens as the JWT authorizer of an API Gateway HTTP API does. Unlike API Gateway, which can keep the keys of
 * an issuer for two hours, it fetches them again for a token with an unknown key.
 */
export function openTokenAuthorizer({ issuer, audience }: TokenSettings): Authorize {
  const keys = openKeys(issuer);
  return async (header) => {
    const token = header?.replace(/^Bearer +/i, '').trim();
    if (!token) return { challenge: 'Bearer' };
    try {
      checkHeader(token);
      const options = { issuer, algorithms: ALGORITHMS, requiredClaims: ['exp'], clockTolerance: 0 };
      const { payload } = await jwtVerify(token, await keys(), options);
      checkClaims(payload, audience);
      return { claims: asClaims(payload) };
    } catch (error) {
      const reason = reasonOf(error).replaceAll(/[^\x20-\x7e]|["\\]/g, ' ');
      return { challenge: `Bearer scope="" error="invalid_token" error_description="${reason}"` };
    }
  };
}

/** A token that API Gateway refuses and jose would accept. */
class Refused extends Error {}

function checkHeader(token: string): void {
  const { alg, kid } = decodeProtectedHeader(token);
  if (!ALGORITHMS.includes(alg ?? '')) throw new Refused(`signing method ${alg} is invalid`);
  // jose takes the only key of an issuer for a token that names none.
  if (typeof kid !== 'string') throw new Refused('the token has no kid in its header');
}

function checkClaims({ aud, client_id: client, iat }: JWTPayload, audience: string): void {
  if (![aud ?? client].flat().includes(audience)) throw new Refused('the token does not have a valid audience');
  if (iat !== undefined && iat > Date.now() / 1000) throw new Refused('the token was issued in the future');
}

/** Returns a function that finds the keys of the issuer by its discovery document, until it has once succeeded. */
function openKeys(issuer: string) {
  let found: ReturnType<typeof discover> | undefined;
  return () => {
    found ??= discover(issuer).catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return found;
  };
}

async function discover(issuer: string) {
  const address = wellKnown(issuer, 'openid-configuration');
  const response = await fetch(address, { signal: AbortSignal.timeout(FETCH_MS) }).catch((error: unknown) => {
    throw new Refused(`${address} cannot be fetched: ${messageOf(error)}`);
  });
  if (!response.ok) throw new Refused(`${address} answered ${response.status}`);
  const document = (await response.json().catch(() => undefined)) as { jwks_uri?: unknown } | null | undefined;
  const url = URL.parse(String(document?.jwks_uri));
  if (url === null || !isSecure(url)) throw new Refused(`${address} has no jwks_uri with an https:// address`);
  return createRemoteJWKSet(url, { timeoutDuration: FETCH_MS, cooldownDuration: 0 });
}

/** Returns the reason in the words of API Gateway, as far as they are known. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired';
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'iss') return 'issuer does not match';
  return messageOf(error);
}

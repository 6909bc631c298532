import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import type { JwtSettings } from '../../core/access/token-settings.ts';
import type { Authenticate } from '../caller.ts';
import { Problem } from '../problem.ts';
import { bearerToken } from './api-key.ts';
import { callerOfClaims } from './claims.ts';

const CLOCK_TOLERANCE_SECONDS = 30;

/** Authenticates an issuer's tokens; their claim `scope` (or `scp`) names the scopes. */
export function jwtAuthentication({ issuer, audience, jwks, algorithms }: JwtSettings): Authenticate {
  const keys = createRemoteJWKSet(jwks, { timeoutDuration: 3000 });
  const options = {
    ...{ issuer, audience, algorithms: [...algorithms], clockTolerance: CLOCK_TOLERANCE_SECONDS },
    requiredClaims: ['exp', 'sub'],
  };
  return async (request) => {
    const token = bearerToken(request);
    if (token === undefined || token.split('.').length !== 3) return undefined;
    try {
      const { payload } = await jwtVerify(token, keys, options);
      // A claim can be any JSON value: jose checks only that it exists.
      return callerOfClaims(payload.sub, wordsOf(payload));
    } catch (error) {
      if (isTokensFault(error)) return { refused: `the token is invalid: ${error.message}` };
      throw unavailable(error);
    }
  };
}

function unavailable(cause: unknown): Problem {
  const detail = "the issuer's keys cannot be fetched: try again in a few seconds";
  return new Problem('issuer-unavailable', detail, { cause, headers: { 'Retry-After': '5' } });
}

/** Whether the token is at fault, rather than an issuer that is down or does not respond with keys. */
function isTokensFault(error: unknown): error is errors.JOSEError {
  return error instanceof errors.JOSEError && /^ERR_(JWT|JWS|JOSE_ALG|JOSE_NOT|JWKS_NO|JWKS_MULTIPLE)/.test(error.code);
}

/** Reads scopes separated by spaces, or a list of them; unknown scopes belong to other services. */
function wordsOf({ scope, scp }: JWTPayload): string[] {
  return [scope, scp].flat().flatMap((value) => (typeof value === 'string' ? value.split(' ') : []));
}

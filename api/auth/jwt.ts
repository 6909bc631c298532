import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import { SCOPES, type Scope } from '../../core/access/scopes.ts';
import type { Authenticate } from '../caller.ts';
import { Problem } from '../problem.ts';
import { bearerToken } from './api-key.ts';

export interface JwtSettings {
  readonly issuer: string;
  readonly audience: string;
  /** Where the issuer publishes its keys; they are kept for ten minutes. */
  readonly jwks: URL;
  /** Signatures that are accepted; never a symmetric one. */
  readonly algorithms: readonly string[];
}

const CLOCK_TOLERANCE_SECONDS = 30;

/** Tokens of an issuer, whose claim `scope` (or `scp`) names our scopes. */
export function jwtAuthentication({ issuer, audience, jwks, algorithms }: JwtSettings): Authenticate {
  const keys = createRemoteJWKSet(jwks, { timeoutDuration: 3000 });
  const demands = {
    ...{ issuer, audience, algorithms: [...algorithms], clockTolerance: CLOCK_TOLERANCE_SECONDS },
    requiredClaims: ['exp', 'sub'],
  };
  return async (request) => {
    const token = bearerToken(request);
    if (token === undefined || token.split('.').length !== 3) return undefined;
    try {
      const { payload } = await jwtVerify(token, keys, demands);
      return { name: `jwt:${payload.sub}`, id: `jwt:${payload.sub}`, scopes: new Set(scopesOf(payload)) };
    } catch (error) {
      if (isTokensFault(error)) return { refused: `the token is not accepted: ${error.message}` };
      throw unavailable(error);
    }
  };
}

function unavailable(cause: unknown): Problem {
  const detail = "the issuer's keys cannot be had: try again in a few seconds";
  return new Problem('issuer-unavailable', detail, { cause, headers: { 'Retry-After': '5' } });
}

/** As against the issuer's, which is away or answers something else than keys. */
function isTokensFault(error: unknown): error is errors.JOSEError {
  return error instanceof errors.JOSEError && /^ERR_(JWT|JWS|JOSE_ALG|JOSE_NOT|JWKS_NO|JWKS_MULTIPLE)/.test(error.code);
}

/** Words separated by spaces, or a list of them; those that are none of ours are somebody else's. */
function scopesOf({ scope, scp }: JWTPayload): Scope[] {
  const words = [scope, scp].flat().flatMap((value) => (typeof value === 'string' ? value.split(' ') : []));
  return SCOPES.filter((known) => words.includes(known));
}

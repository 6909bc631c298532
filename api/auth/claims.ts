import { SCOPES } from '../../core/access/scopes.ts';
import type { TokenSettings } from '../../core/access/token-settings.ts';
import type { Authenticate, Caller, Refusal } from '../caller.ts';

/**
 * The claim `sub`, for which OpenID Connect allows 255 characters. The audit log and the logs contain it, so it must
 * not contain characters that control a terminal.
 */
const SUBJECT = /^[^\p{Cc}\p{Cs}\p{Bidi_Control}]{1,255}$/u;

const BAD_SUBJECT =
  'the token is invalid: its claim sub must be a string of 1 to 255 characters without control characters';

/** Returns the caller that the claims of a verified token name, with those of `words` that are scopes of Millrace. */
export function callerOfClaims(sub: unknown, words: readonly string[]): Caller | Refusal {
  if (typeof sub !== 'string' || !SUBJECT.test(sub)) return { refused: BAD_SUBJECT };
  return { name: `jwt:${sub}`, id: `jwt:${sub}`, scopes: new Set(SCOPES.filter((known) => words.includes(known))) };
}

/**
 * Identifies the bearer of a token that API Gateway has verified. Without its claims, a request is not authenticated:
 * a route without the authorizer, or another gateway, could have sent it.
 */
export function claimsAuthentication({ issuer, audience }: TokenSettings): Authenticate {
  return async (_request, { claims }) => {
    if (claims === undefined) return undefined;
    const { iss, sub, scope, scp } = claims;
    if (iss !== issuer) return { refused: 'the token is invalid: unexpected "iss" claim value' };
    // API Gateway compares `client_id` if a token, such as that of Cognito, has no `aud`.
    if (!wordsOf(claims.aud ?? claims.client_id).includes(audience)) {
      return { refused: 'the token is invalid: unexpected "aud" claim value' };
    }
    return callerOfClaims(sub, [...wordsOf(scope), ...wordsOf(scp)]);
  };
}

/** API Gateway passes each claim as text, and a list as `[one two]`. */
function wordsOf(claim: unknown): string[] {
  return typeof claim === 'string' ? claim.replace(/^\[(.*)\]$/, '$1').split(' ') : [];
}

import { SCOPES } from '../../core/access/scopes.ts';
import { findStranger } from '../../core/loopback.ts';
import type { Authenticate } from '../caller.ts';

const REFUSED = {
  host: 'without authentication, the API serves only requests to a loopback address',
  site: 'without authentication, the API refuses requests from other sites',
} as const;

/**
 * Grants every scope to requests from programs on this machine, and refuses requests from pages from other sites in a
 * browser on it.
 */
export function loopbackAuthentication(): Authenticate {
  return async ({ headers, url }) => {
    const stranger = findStranger({
      host: headers.get('host') ?? new URL(url).host,
      origin: headers.get('origin') ?? undefined,
      site: headers.get('sec-fetch-site') ?? undefined,
    });
    if (stranger !== undefined) return { refused: REFUSED[stranger] };
    return { name: 'loopback', id: 'loopback', scopes: new Set(SCOPES) };
  };
}

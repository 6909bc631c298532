import { SCOPES } from '../../core/access/scopes.ts';
import { isLoopback } from '../../core/loopback.ts';
import type { Authenticate } from '../caller.ts';

/**
 * Grants every scope to requests from this machine. It refuses pages of other sites in a browser on it: they send their
 * origin, or a host name that an attacker has pointed at this machine.
 */
export function loopbackAuthentication(): Authenticate {
  return async (request) => {
    const host = (request.headers.get('host') ?? new URL(request.url).host).replace(/:\d+$/, '');
    if (!isLoopback(host))
      return { refused: 'without authentication, the API serves only requests to a loopback address' };
    if (isFromElsewhere(request)) {
      return { refused: 'without authentication, the API refuses requests from other sites' };
    }
    return { name: 'loopback', id: 'loopback', scopes: new Set(SCOPES) };
  };
}

/** Current browsers send Sec-Fetch-Site; older ones send at least Origin on requests that change something. */
function isFromElsewhere(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site') ?? 'none';
  const origin = request.headers.get('origin');
  const isForeign = origin !== null && URL.parse(origin)?.host !== request.headers.get('host');
  return isForeign || (site !== 'same-origin' && site !== 'none');
}

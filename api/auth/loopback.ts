import { isLoopback } from '../../core/access/loopback.ts';
import { SCOPES } from '../../core/access/scopes.ts';
import type { Authenticate } from '../caller.ts';

/**
 * Whoever is on this machine may do everything. A page of another site that a browser here has open is not: it says
 * where it is from, or comes by a name that was made to point here.
 */
export function loopbackAuthentication(): Authenticate {
  return async (request) => {
    const host = (request.headers.get('host') ?? new URL(request.url).host).replace(/:\d+$/, '');
    if (!isLoopback(host)) return { refused: 'without authentication only requests to a loopback address are served' };
    if (isFromElsewhere(request)) {
      return { refused: 'without authentication no request that another site makes is served' };
    }
    return { name: 'loopback', id: 'loopback', scopes: new Set(SCOPES) };
  };
}

/** Every browser of today says so by the first header; older ones at least by the second, on what changes something. */
function isFromElsewhere(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site') ?? 'none';
  const origin = request.headers.get('origin');
  const isForeign = origin !== null && URL.parse(origin)?.host !== request.headers.get('host');
  return isForeign || (site !== 'same-origin' && site !== 'none');
}

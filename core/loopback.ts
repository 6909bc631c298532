import { isIPv4 } from 'node:net';

/** Returns whether a host is reachable only from its own machine; `host` has the form of `URL.hostname`. */
export function isLoopback(host: string): boolean {
  return /^(localhost|\[::1\])$/i.test(host) || (isIPv4(host) && host.startsWith('127.'));
}

/** The headers that show where an HTTP request comes from. */
export interface OriginHeaders {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`. */
  readonly site: string | undefined;
}

/**
 * Returns `host` if a request is not addressed to a loopback address (an attacker can point a host name at this
 * machine), `site` if a page from another site or port sent it, and undefined for all other requests. Current browsers
 * send Sec-Fetch-Site, and older browsers send at least Origin with requests that change something; other programs send
 * neither.
 */
export function findStranger({ host, origin, site = 'none' }: OriginHeaders): 'host' | 'site' | undefined {
  if (host === undefined || !isLoopback(host.replace(/:\d+$/, ''))) return 'host';
  const isForeign = origin !== undefined && URL.parse(origin)?.host !== host;
  return isForeign || (site !== 'same-origin' && site !== 'none') ? 'site' : undefined;
}

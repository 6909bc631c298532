import { isIPv4 } from 'node:net';

/** Returns whether an address is reachable from its own machine only; `host` is in the form of `URL.hostname`. */
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
 * Returns `host` for a request that is not addressed to a loopback address (an attacker can point a host name at this
 * machine), `site` for one that a page of another site or another port sent, and undefined for any other. Current
 * browsers send Sec-Fetch-Site, older ones at least Origin with requests that change something; other programs send
 * neither.
 */
export function findStranger({ host, origin, site = 'none' }: OriginHeaders): 'host' | 'site' | undefined {
  if (host === undefined || !isLoopback(host.replace(/:\d+$/, ''))) return 'host';
  const isForeign = origin !== undefined && URL.parse(origin)?.host !== host;
  return isForeign || (site !== 'same-origin' && site !== 'none') ? 'site' : undefined;
}

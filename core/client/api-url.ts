import { isLoopback } from '../loopback.ts';

/** What an address must be, for errors. */
export const API_URL_EXPECTED = 'expected https://host/, or http:// on this machine';

/**
 * Returns the address of an API without a trailing slash, or what is wrong with it, without the address: it can contain
 * a password.
 * @param keyPlace where to pass a key, such as `set MILLRACE_API_KEY`
 */
export function readApiUrl(address: unknown, keyPlace: string): { readonly url: string } | { readonly fault: string } {
  const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
  const fault = url === undefined ? 'the address is malformed' : faultOf(url, keyPlace);
  if (url === undefined || fault !== undefined) return { fault: fault ?? '' };
  return { url: `${url.origin}${url.pathname.replace(/\/+$/, '')}` };
}

function faultOf(url: URL, keyPlace: string): string | undefined {
  if (!/^https?:$/.test(url.protocol)) return 'this is not the address of an API';
  if (url.username !== '' || url.password !== '')
    return `the address must not contain credentials: ${keyPlace} instead`;
  if (url.search !== '' || url.hash !== '') return 'the address must not contain ? or #';
  const isExposed = url.protocol === 'http:' && !isLoopback(url.hostname);
  return isExposed ? 'http:// to another machine would expose the key' : undefined;
}

/** Returns whether an address is reachable from its own machine only; `host` is in the form of `URL.hostname`. */
export function isLoopback(host: string): boolean {
  return /^(127(\.\d{1,3}){3}|localhost|\[::1\])$/i.test(host);
}

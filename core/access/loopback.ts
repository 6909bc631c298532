/** Whether an address can be reached from its own machine alone; `host` as `URL.hostname` has it. */
export function isLoopback(host: string): boolean {
  return /^(127(\.\d{1,3}){3}|localhost|\[::1\])$/i.test(host);
}

import { isLoopback } from '../../core/loopback.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';

export interface ApiAddress {
  /** Without a trailing slash: paths of operations follow. */
  readonly url: string;
  /** The address to show, which contains nothing secret. */
  readonly label: string;
}

const EXPECTED = 'expected https://host/, or http:// on this machine';

/** @throws CommandFailure that names the source and the mistake, without the address. */
export function readApiAddress(address: string, source: string): ApiAddress {
  const refuse = (reason: string) => new CommandFailure(EXIT.usage, `${source}: ${reason}; ${EXPECTED}`);
  const url = URL.parse(address);
  if (url === null) throw refuse('the address is malformed');
  if (!/^https?:$/.test(url.protocol)) throw refuse('this is not the address of an API');
  if (url.username !== '' || url.password !== '') {
    throw refuse('the address must not contain credentials: set MILLRACE_API_KEY instead');
  }
  if (url.search !== '' || url.hash !== '') throw refuse('the address must not contain ? or #');
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw refuse('http:// to another machine would expose the key');
  }
  const path = url.pathname.replace(/\/+$/, '');
  return { url: `${url.origin}${path}`, label: `${url.origin}${path}/` };
}

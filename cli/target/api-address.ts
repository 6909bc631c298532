import { isLoopback } from '../../core/access/loopback.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';

export interface ApiAddress {
  /** Without a slash at its end: paths of operations follow. */
  readonly url: string;
  /** What may be shown: the address holds nothing secret. */
  readonly label: string;
}

const EXPECTED = 'expected https://host/, or http:// on this machine';

/** @throws CommandFailure that says where it came from and what is wrong, without the address. */
export function readApiAddress(address: string, source: string): ApiAddress {
  const refuse = (reason: string) => new CommandFailure(EXIT.usage, `${source}: ${reason}; ${EXPECTED}`);
  const url = URL.parse(address);
  if (url === null) throw refuse('this is not an address that can be read');
  if (!/^https?:$/.test(url.protocol)) throw refuse('this is not the address of an API');
  if (url.username !== '' || url.password !== '') {
    throw refuse('an address holds no credential: put the key into MILLRACE_API_KEY');
  }
  if (url.search !== '' || url.hash !== '') throw refuse('nothing can follow after a ? or a #');
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw refuse('over http:// to another machine everybody on the way could read the key');
  }
  const path = url.pathname.replace(/\/+$/, '');
  return { url: `${url.origin}${path}`, label: `${url.origin}${path}/` };
}

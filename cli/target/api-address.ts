import { API_URL_EXPECTED, readApiUrl } from '../../core/client/api-url.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';

export interface ApiAddress {
  /** Without a trailing slash: paths of operations follow. */
  readonly url: string;
  /** The address to show, which contains nothing secret. */
  readonly label: string;
}

/** @throws CommandFailure that names the source and the mistake, without the address. */
export function readApiAddress(address: string, source: string): ApiAddress {
  const read = readApiUrl(address, 'set MILLRACE_API_KEY');
  if ('fault' in read) throw new CommandFailure(EXIT.usage, `${source}: ${read.fault}; ${API_URL_EXPECTED}`);
  return { url: read.url, label: `${read.url}/` };
}

import { SettingError } from '../../core/errors.ts';
import { type Server, serversOf } from '../../core/postgres/address.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { findPassword } from './saved-password.ts';

export interface DatabaseAddress {
  readonly url: string;
  /** `host:port/database`, the only part to show. */
  readonly label: string;
}

const EXPECTED = 'expected postgres://user:password@host:5432/name';

/**
 * Checks the address before anything can print it.
 * @throws CommandFailure that names the source and the mistake, without the address.
 */
export function readAddress(address: string, source: string): DatabaseAddress {
  const refuse = (reason: string) => new CommandFailure(EXIT.usage, `${source}: ${reason}; ${EXPECTED}`);
  const url = URL.parse(address);
  if (url === null)
    throw refuse(
      'the address is malformed (are characters such as # @ / ? in the password written as %23 %40 %2F %3F?)',
    );
  if (!/^postgres(ql)?:$/.test(url.protocol)) throw refuse('this is not the address of a Postgres database');
  // Such a character ends the address early: the rest of the password would count as a host or a name.
  const cut = url.hash !== '' || (url.username === '' && /@/.test(url.pathname + url.search));
  if (cut) throw refuse('a # ? or / in the password must be written as %23 %3F %2F');
  const host = decode(url.host || url.searchParams.get('host') || 'localhost');
  const name = decode(url.pathname.slice(1));
  if (host === undefined || name === undefined || decode(url.username + url.password) === undefined) {
    throw refuse('a % in the address must be written as %25');
  }
  const server = readServer(address, (message) => new CommandFailure(EXIT.usage, `${source}: ${message}`));
  if (server.password !== '') return { url: address, label: `${host}/${name}` };
  const password = findPassword(server);
  // Appended as text, because URLSearchParams would write spaces in other parameters as `+`, which psql does not
  // decode.
  const added = password && `${url.search === '' ? '?' : '&'}password=${encodeURIComponent(password)}`;
  return { url: `${address}${added ?? ''}`, label: `${host}/${name}` };
}

function readServer(address: string, refuse: (message: string) => CommandFailure): Server {
  try {
    return serversOf(address)[0];
  } catch (error) {
    throw error instanceof SettingError ? refuse(error.message) : error;
  }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

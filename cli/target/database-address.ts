import { SettingError } from '../../core/errors.ts';
import { isCut, type Server, serversOf } from '../../core/postgres/address.ts';
import { oneLine } from '../../core/text.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { findPassword } from './saved-password.ts';

export interface DatabaseAddress {
  readonly url: string;
  /** `host:port/database` of the server that gets the password, the only part to show. */
  readonly label: string;
}

const LONGEST_LABEL = 200;
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
  if (isCut(url)) throw refuse('a # ? / or @ in the password must be written as %23 %3F %2F %40');
  if (!isDecodable(url.host + url.pathname + url.username + url.password)) {
    throw refuse('a % in the address must be written as %25');
  }
  const server = readServer(address, (message) => new CommandFailure(EXIT.usage, `${source}: ${message}`));
  const label = labelOf(server, url.port !== '' || url.searchParams.has('port'));
  if (server.password !== '') return { url: address, label };
  const password = findPassword(server);
  // Appended as text, because URLSearchParams would write spaces in other parameters as `+`, which psql does not
  // decode.
  const added = password && `${url.search === '' ? '?' : '&'}password=${encodeURIComponent(password)}`;
  return { url: `${address}${added ?? ''}`, label };
}

function readServer(address: string, refuse: (message: string) => CommandFailure): Server {
  try {
    return serversOf(address)[0];
  } catch (error) {
    throw error instanceof SettingError ? refuse(error.message) : error;
  }
}

/** Derived from the connection: the parameters of an address can name a different server from its authority. */
function labelOf({ host, port, database }: Server, namesPort: boolean): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return oneLine(`${name}${namesPort ? `:${port}` : ''}/${database}`, LONGEST_LABEL);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

import { CommandFailure, EXIT } from '../command-failure.ts';

export interface DatabaseAddress {
  readonly url: string;
  /** `host:port/database`, which is all that may be shown. */
  readonly label: string;
}

const EXPECTED = 'expected postgres://user:password@host:5432/name';

/**
 * Checks the address before anything can print it.
 * @throws CommandFailure that says where it came from and what is wrong, without the address.
 */
export function readAddress(address: string, source: string): DatabaseAddress {
  const refuse = (reason: string) => new CommandFailure(EXIT.usage, `${source}: ${reason}; ${EXPECTED}`);
  const url = URL.parse(address);
  if (url === null)
    throw refuse(
      'this is not an address that can be read (are characters such as # @ / ? in the password written as %23 %40 %2F %3F?)',
    );
  if (!/^postgres(ql)?:$/.test(url.protocol)) throw refuse('this is not the address of a Postgres database');
  // Such a character ends the address early: what follows, half a password, would be taken for a host or a name.
  const cut = url.hash !== '' || (url.username === '' && /@/.test(url.pathname + url.search));
  if (cut) throw refuse('a # ? or / in the password must be written as %23 %3F %2F');
  const host = decode(url.host || url.searchParams.get('host') || 'localhost');
  const name = decode(url.pathname.slice(1));
  if (host === undefined || name === undefined || decode(url.username + url.password) === undefined) {
    throw refuse('a % in the address must be written as %25');
  }
  return { url: address, label: `${host}/${name}` };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

import { isVerified, knownAuthorities, type ParsedAddress, parseAddress } from '../../core/postgres/address.ts';

/** A connection of a program that uses libpq, such as psql. */
export interface LibpqConnection {
  /** All parameters that determine where and how to connect, except the password. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly password: string;
  /** PEM for `sslrootcert`; undefined if the address names a file, or if the certificate is not verified. */
  readonly authorities: string | undefined;
}

/** Returns the connection that Millrace makes, with all parameters: libpq uses its own defaults for missing ones. */
export function libpqConnection(address: string): LibpqConnection {
  const parsed = parseAddress(address);
  const { plain, given } = parsed;
  const root = given.get('sslrootcert');
  const isOwn = isVerified(parsed.mode, given) && Boolean(root) && root !== 'system';
  const parameters = {
    ...{ host: plain.host, port: String(plain.port), user: plain.user, dbname: plain.database },
    sslmode: modeOf(parsed),
    // Encryption by Kerberos would replace TLS, and with it the check of the certificate.
    gssencmode: 'disable',
    ...(isOwn && root && { sslrootcert: root }),
    ...named(given, ['sslcert', 'sslkey', 'sslnegotiation']),
    ...plain.session,
  };
  const isKnown = isVerified(parsed.mode, given) && !isOwn;
  return { parameters, password: plain.password, authorities: isKnown ? knownAuthorities().join('\n') : undefined };
}

/** Returns parameters as the one argument of psql that names the database. */
export function connectionText(parameters: Readonly<Record<string, string>>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${/^[\w./:-]+$/.test(value) ? value : quoted(value)}`)
    .join(' ');
}

function quoted(value: string): string {
  return `'${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}

function modeOf({ mode, given }: ParsedAddress): string {
  if (mode === 'no-verify') return 'require';
  return isVerified(mode, given) && given.get('sslrootcert') === 'system' ? 'verify-full' : mode;
}

function named(given: URLSearchParams, names: readonly string[]): Record<string, string> {
  const values = names.map((name) => [name, given.get(name)] as const);
  return Object.fromEntries(values.filter((pair): pair is [string, string] => Boolean(pair[1])));
}

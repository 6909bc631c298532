import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import tls, { type ConnectionOptions, type PeerCertificate } from 'node:tls';
import { SettingError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import { ownFile } from '../own-files.ts';
import type { Password } from './queryable.ts';

/** All parameters of a connection: pg would read a missing parameter from the environment. */
export interface Server {
  /** A host name, an IP address, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Empty for a connection without a password. */
  readonly password: Password;
  readonly database: string;
  /** False for a connection without TLS. */
  readonly ssl: false | ConnectionOptions;
  readonly sslnegotiation: 'postgres' | 'direct';
  /** Session parameters in the address. */
  readonly session: SessionParameters;
}

export interface SessionParameters {
  readonly application_name?: string;
  readonly options?: string;
}

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const;
type Mode = (typeof MODES)[number];

/** An address with a value for everything that it omits. */
export interface ParsedAddress {
  /** The connection without TLS. */
  readonly plain: Server & { readonly password: string };
  readonly mode: Mode;
  /** The parameters after `?`. */
  readonly given: URLSearchParams;
}

/** Values of pg's parameter `ssl=`, for which libpq has `sslmode=`. */
const SSL: Readonly<Record<string, Mode>> = {
  ...{ true: 'verify-full', 1: 'verify-full', 'no-verify': 'no-verify' },
  ...{ false: 'disable', 0: 'disable' },
};
const PORT = 5432;

/**
 * Returns the connections to try for an address, in this order. `sslmode` has the same meaning as for libpq. Without
 * `sslmode`, a connection to another machine is encrypted, and the server's certificate and name are verified.
 * @throws SettingError for a parameter with an unknown value; the error does not contain the address.
 */
export function serversOf(connectionString: string): readonly [Server, ...Server[]] {
  const { plain, mode, given } = parseAddress(connectionString);
  if (mode === 'disable') return [plain];
  const sslnegotiation = given.get('sslnegotiation') === 'direct' ? 'direct' : 'postgres';
  const encrypted: Server = { ...plain, ssl: tlsOf(mode, plain.host, given), sslnegotiation };
  if (mode === 'allow') return [plain, encrypted];
  return mode === 'prefer' ? [encrypted, plain] : [encrypted];
}

/** @throws SettingError as `serversOf` */
export function parseAddress(connectionString: string): ParsedAddress {
  // Node 20, with which an application may run `migrate`, has no `URL.parse`.
  const url = URL.canParse(connectionString) ? new URL(connectionString) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol) || isCut(url)) throw malformed();
  const given = url.searchParams;
  // libpq connects to this address: the host name would be shown and verified, but not used.
  if (given.has('hostaddr')) throw new SettingError('hostaddr', 'no such parameter (use host)', given.get('hostaddr'));
  const host = given.get('host') || decode(url.hostname.replace(/^\[(.+)\]$/, '$1')) || 'localhost';
  const user = given.get('user') || decode(url.username) || userInfo().username;
  const plain: ParsedAddress['plain'] = {
    ...{ host, user, port: portOf(given.get('port') || url.port) },
    password: given.get('password') || decode(url.password),
    database: decode(url.pathname.slice(1)) || given.get('dbname') || user,
    ...{ ssl: false, sslnegotiation: 'postgres', session: sessionOf(given) },
  };
  // As in libpq, a connection to a socket is never encrypted.
  const mode = host.startsWith('/') ? 'disable' : modeOf(given, host);
  return { plain, mode, given };
}

/** Parameters whose value can contain an @. */
const TEXTS: readonly unknown[] = [
  ...['user', 'password', 'host', 'dbname', 'application_name', 'options', 'sslcert', 'sslkey', 'sslrootcert'],
];

/**
 * Returns whether a # ? or / in the password ends the authority: the rest of the password would count as a path or a
 * parameter, and what follows an earlier @ as the host, which is looked up and shown.
 */
export function isCut({ hash, pathname, search }: URL): boolean {
  const parameters = search.slice(1).split('&');
  const isText = (parameter: string) => !parameter.includes('@') || TEXTS.includes(parameter.split('=')[0]);
  return hash !== '' || pathname.includes('@') || !parameters.every(isText);
}

/** Returns an error without the address, which may contain a password. */
function malformed(cause?: unknown): SettingError {
  const message = 'the address of the database: expected postgres://user:password@host:port/name, percent-encoded';
  return Object.assign(new SettingError('the address of the database', '', undefined, message), { cause });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw malformed(cause);
  }
}

/** Returns TLS options that verify the certificate and check that it names this host, which may be an IP address. */
export function verifiedTls(host: string, ca: string | string[]): ConnectionOptions {
  const checkServerIdentity = (_name: string, certificate: PeerCertificate) =>
    tls.checkServerIdentity(host, certificate);
  return { ca, rejectUnauthorized: true, checkServerIdentity };
}

function modeOf(given: URLSearchParams, host: string): Mode {
  const word = given.get('sslmode');
  const mode = word === null ? SSL[given.get('ssl') ?? ''] : MODES.find((one) => one === word);
  if (mode !== undefined) return mode;
  if (word !== null) throw new SettingError('sslmode', `one of ${MODES.join(', ')}`, word);
  const named = ['ssl', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'].some((name) => given.has(name));
  return named || !isLoopback(host.includes(':') ? `[${host}]` : host) ? 'verify-full' : 'disable';
}

function tlsOf(mode: Mode, host: string, given: URLSearchParams): ConnectionOptions {
  const [root, cert, key] = ['sslrootcert', 'sslcert', 'sslkey'].map((name) => given.get(name));
  const own = { ...(cert && { cert: read('sslcert', cert) }), ...(key && { key: read('sslkey', key) }) };
  if (!isVerified(mode, given)) return { ...own, rejectUnauthorized: false };
  const ca = root && root !== 'system' ? read('sslrootcert', root) : knownAuthorities();
  const strict = { ...own, ...verifiedTls(host, ca) };
  return mode === 'verify-full' || root === 'system' ? strict : { ...strict, checkServerIdentity: () => undefined };
}

/** As in libpq, `require` also verifies the certificate if the address names certificate authorities. */
export function isVerified(mode: Mode, given: URLSearchParams): boolean {
  return mode.startsWith('verify-') || (mode === 'require' && Boolean(given.get('sslrootcert')));
}

/** Returns the certificate authorities of Node, of the operating system and of Amazon RDS. */
export function knownAuthorities(): string[] {
  // Node 20, with which an application may run `migrate`, has no function that reads those of the operating system.
  const known =
    tls.getCACertificates === undefined
      ? tls.rootCertificates
      : [...tls.getCACertificates('default'), ...tls.getCACertificates('system')];
  // Operating systems do not include the authorities of RDS.
  const ofRds = ownFile('infra/rds-ca.pem');
  return [...new Set(known), ...(existsSync(ofRds) ? [readFileSync(ofRds, 'utf8')] : [])];
}

function read(name: string, file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8');
  throw new SettingError(name, 'the path of an existing PEM file', file);
}

function portOf(text: string): number {
  const port = Number(text || PORT);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new SettingError('port', 'a number from 1 to 65535', text);
}

/** Returns the only session parameters that are passed on: Millrace sets the limits of the session itself. */
function sessionOf(given: URLSearchParams): SessionParameters {
  const [name, options] = [given.get('application_name'), given.get('options')];
  return { ...(name && { application_name: name }), ...(options && { options }) };
}

import { SettingError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';

/** The signature algorithms of tokens that the API can verify; never a symmetric one. */
export const SIGNATURES = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** The variables with which a function verifies tokens, or reads the claims that its gateway has verified. */
export const TOKEN_VARIABLES = {
  issuer: 'MILLRACE_API_JWT_ISSUER',
  audience: 'MILLRACE_API_JWT_AUDIENCE',
  jwks: 'MILLRACE_API_JWT_JWKS',
  algorithms: 'MILLRACE_API_JWT_ALGORITHMS',
} as const;

type Variables = Readonly<Record<string, string | undefined>>;

/** The claims `iss` and `aud` that a token must have. */
export interface TokenSettings {
  readonly issuer: string;
  readonly audience: string;
}

export interface JwtSettings extends TokenSettings {
  /** URL of the issuer's keys; they are cached for ten minutes. */
  readonly jwks: URL;
  /** Accepted signature algorithms; never a symmetric one. */
  readonly algorithms: readonly string[];
}

const SECURE = 'an https:// address, or an http:// address on this machine';

/** @throws SettingError without an issuer or an audience */
export function readTokens(variables: Variables): TokenSettings {
  const issuer = required(variables, TOKEN_VARIABLES.issuer, "the claim 'iss' of the tokens");
  return { issuer, audience: required(variables, TOKEN_VARIABLES.audience, "the claim 'aud' of the tokens") };
}

/** Without MILLRACE_API_JWT_JWKS, the keys are fetched from the issuer's URL; with it, the issuer can be any text. */
export function readJwt(variables: Variables): JwtSettings {
  const { issuer, audience } = readTokens(variables);
  const given = URL.parse(issuer);
  if (given !== null && isUnencrypted(given)) throw new SettingError(TOKEN_VARIABLES.issuer, SECURE, issuer);
  const text = variables[TOKEN_VARIABLES.jwks] ?? wellKnown(issuer, 'jwks.json');
  const jwks = URL.parse(text);
  if (jwks === null) throw new SettingError(TOKEN_VARIABLES.jwks, "the URL of the issuer's keys", text);
  if (!isSecure(jwks)) throw new SettingError(TOKEN_VARIABLES.jwks, SECURE, jwks.href);
  return { issuer, audience, jwks, algorithms: readAlgorithms(variables) };
}

function readAlgorithms(variables: Variables): string[] {
  const name = TOKEN_VARIABLES.algorithms;
  const words = (variables[name] ?? 'RS256,ES256').split(',').map((word) => word.trim());
  const unknown = words.find((word) => !SIGNATURES.includes(word));
  if (unknown === undefined) return words;
  throw new SettingError(name, `a comma-separated list of ${SIGNATURES.join(', ')}`, unknown);
}

/** Returns the issuer and the audience. @throws SettingError unless the issuer can publish a discovery document */
export function readDiscoverable(variables: Variables): TokenSettings {
  const tokens = readTokens(variables);
  const url = URL.parse(tokens.issuer);
  if (url === null || !isSecure(url)) throw new SettingError(TOKEN_VARIABLES.issuer, SECURE, tokens.issuer);
  return tokens;
}

/** Returns the address of a document that an issuer publishes. */
export function wellKnown(issuer: string, name: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/${name}`;
}

/** Returns whether no attacker on the network could replace the response of this address. */
export function isSecure(url: URL): boolean {
  return /^https?:$/.test(url.protocol) && !isUnencrypted(url);
}

function isUnencrypted(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopback(url.hostname);
}

function required(variables: Variables, name: string, expected: string): string {
  const value = variables[name];
  if (value === undefined) throw new SettingError(name, expected, undefined);
  return value;
}

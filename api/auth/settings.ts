import { expandScopes } from '../../core/access/scopes.ts';
import { readJwt, readTokens } from '../../core/access/token-settings.ts';
import { allSettings, setting } from '../../core/config.ts';
import { SettingError } from '../../core/errors.ts';
import { isLoopback } from '../../core/loopback.ts';
import type { Queryable } from '../../core/postgres/database.ts';
import type { Authenticate } from '../caller.ts';
import { apiKeyAuthentication } from './api-key.ts';
import { claimsAuthentication } from './claims.ts';
import { type IamRule, iamAuthentication } from './iam.ts';
import { jwtAuthentication } from './jwt.ts';
import { loopbackAuthentication } from './loopback.ts';

const AUTH = 'MILLRACE_API_AUTH';
const MODES = ['api-key', 'iam', 'jwt', 'gateway-jwt', 'none'] as const;
const EXPECTED = `a comma-separated list of ${MODES.join(', ')}; none only by itself`;

/**
 * Reads the ways to authenticate from the environment.
 * @throws SettingError without one, and for `none` unless the API has a loopback address.
 */
export function readAuthentication(db: Queryable): Authenticate[] {
  const modes = readModes();
  if (modes.includes('none') && modes.length > 1) throw new SettingError(AUTH, EXPECTED, modes.join());
  return modes.map((mode) => open(mode, db));
}

/**
 * Returns why this API creates no keys: none of its ways to authenticate reads them. Undefined if one does, and with
 * `none`, where keys are for later.
 */
export function keyRefusal(): string | undefined {
  const modes = readModes();
  if (modes.includes('api-key') || modes.includes('none')) return undefined;
  const instead = modes.includes('iam') ? 'name the caller in apiIamScopes' : 'get a token from the issuer';
  return `this API reads no API keys, since ${AUTH} is ${modes.join()}: ${instead}, or deploy with api=api-key`;
}

function readModes(): Mode[] {
  return setting(AUTH, EXPECTED).split(',').map(toMode);
}

function open(mode: Mode, db: Queryable): Authenticate {
  switch (mode) {
    case 'api-key':
      return apiKeyAuthentication(db);
    case 'iam':
      return iamAuthentication(readIamRules());
    case 'jwt':
      return jwtAuthentication(readJwt(allSettings()));
    case 'gateway-jwt':
      return claimsAuthentication(readTokens(allSettings()));
    case 'none':
      return readNone();
  }
}

type Mode = (typeof MODES)[number];

function toMode(word: string): Mode {
  const mode = MODES.find((one) => one === word.trim());
  if (mode === undefined) throw new SettingError(AUTH, EXPECTED, word);
  return mode;
}

function readNone(): Authenticate {
  const name = 'MILLRACE_API_URL';
  const expected = `a loopback address of the API, because ${AUTH}=none`;
  const text = setting(name, expected);
  const url = URL.parse(text);
  if (url === null || !isLoopback(url.hostname)) throw new SettingError(name, expected, url?.href ?? text);
  return loopbackAuthentication();
}

const IAM_RULES = 'MILLRACE_API_IAM_SCOPES';

function readIamRules(): IamRule[] {
  const expected = 'JSON such as {"arn:aws:sts::123456789012:assumed-role/OnCall/*": ["operator"]}';
  const text = setting(IAM_RULES, expected);
  return Object.entries(parseObject(IAM_RULES, expected, text)).map(([pattern, words]) => {
    const scopes = Array.isArray(words) ? expandScopes(words.map(String)) : undefined;
    if (scopes === undefined)
      throw new SettingError(IAM_RULES, `scopes or roles for ${pattern}`, JSON.stringify(words));
    return { pattern, scopes };
  });
}

function parseObject(name: string, expected: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The error below names the expected form.
  }
  throw new SettingError(name, expected, text);
}

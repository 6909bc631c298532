import { readDiscoverable, readJwt, TOKEN_VARIABLES } from '../../core/access/token-settings.ts';
import { SettingError } from '../../core/errors.ts';
import type { Variables } from '../../core/handler/variables.ts';
import type { Authorize } from './token-authorizer.ts';

const AUTH = 'MILLRACE_API_AUTH';

/** How the API authenticates callers: the variables of its function, and what its gateway verifies before. */
export interface ApiAuthentication {
  readonly environment: Readonly<Record<string, string>>;
  readonly authorize?: Authorize;
}

/**
 * Reads MILLRACE_API_AUTH as a deployment reads its setting `api`: with `jwt`, the gateway verifies tokens, or the
 * function if the project sets the keys or the algorithms. By default the API requires no key: it listens on the
 * loopback address, so only this machine can reach it.
 * @throws SettingError for another value, and for a missing or invalid variable of `jwt`
 */
export async function readApiAuthentication(variables: Variables): Promise<ApiAuthentication> {
  const mode = variables[AUTH] ?? 'none';
  switch (mode) {
    case 'none':
    case 'api-key':
      return { environment: { [AUTH]: mode } };
    case 'jwt':
      return readTokenAuthentication(variables);
    case 'iam':
      throw new SettingError(AUTH, `${EXPECTED}, where nothing verifies the signatures of AWS`, mode);
    default:
      throw new SettingError(AUTH, EXPECTED, mode);
  }
}

const EXPECTED = 'none, api-key or jwt on this machine';

async function readTokenAuthentication(variables: Variables): Promise<ApiAuthentication> {
  if (variables[TOKEN_VARIABLES.jwks] !== undefined || variables[TOKEN_VARIABLES.algorithms] !== undefined) {
    readJwt(variables);
    return { environment: { [AUTH]: 'jwt', ...given(variables) } };
  }
  const tokens = readDiscoverable(variables);
  // Only this way to authenticate pays for loading the library.
  const { openTokenAuthorizer } = await import('./token-authorizer.ts');
  return { environment: { [AUTH]: 'gateway-jwt', ...given(variables) }, authorize: openTokenAuthorizer(tokens) };
}

function given(variables: Variables): Record<string, string> {
  const pairs = Object.values(TOKEN_VARIABLES).map((name) => [name, variables[name]] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [(typeof pair)[0], string] => pair[1] !== undefined));
}

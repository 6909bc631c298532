import { SIGNATURES } from '../../core/access/token-settings.ts';
import { SettingError } from '../../core/errors.ts';
import { type Context, choice, list, number, optional, present, readObject, refuseIdle, required } from './context.ts';
import { check, checkIamScopes, FORMS, formed } from './setting-values.ts';

/** What API Gateway does with requests, in every mode. */
export interface ApiFront {
  /** Requests a second, for all callers together. Default: 100. */
  readonly rateLimit?: number;
  /** Requests above the rate that are accepted at once. Default: twice `rateLimit`. */
  readonly burstLimit?: number;
  /** Whether each request is logged. Default: true. */
  readonly accessLog?: boolean;
  /** A host name of your own, and the ARN of its certificate in ACM. It replaces the address of `execute-api`. */
  readonly domain?: { readonly name: string; readonly certificate: string };
}

/** How the API authenticates callers, or `off` for no API. */
export type ApiChoice =
  | { readonly mode: 'off' }
  | (ApiFront &
      (
        | { readonly mode: 'api-key' }
        /** `scopes`: JSON with scopes or roles by ARN pattern. */
        | { readonly mode: 'iam'; readonly scopes: string }
        | JwtChoice
      ));

/** API Gateway verifies the tokens, or the function of the API if `jwks` or `algorithms` is set. */
export interface JwtChoice {
  readonly mode: 'jwt';
  readonly issuer: string;
  readonly audience: string;
  /** URL of the keys. Default: `/.well-known/jwks.json` below the issuer. */
  readonly jwks?: string;
  /** Algorithms of the signatures, separated by commas. Default: `RS256,ES256`. */
  readonly algorithms?: string;
}

const FRONT_SETTINGS = ['apiRateLimit', 'apiBurstLimit', 'apiAccessLog', 'apiDomain', 'apiCertificate'];
const IAM_SETTINGS = ['apiIamScopes'];
const JWT_SETTINGS = ['jwtIssuer', 'jwtAudience', 'jwtJwks', 'jwtAlgorithms'];
export const API_SETTINGS = ['api', ...FRONT_SETTINGS, ...IAM_SETTINGS, ...JWT_SETTINGS];

/** Whether the function of the API verifies tokens, for which it fetches the keys of the issuer from the internet. */
export function verifiesTokens(api: ApiChoice): boolean {
  return api.mode === 'jwt' && (api.jwks !== undefined || api.algorithms !== undefined);
}

/** Reads `api` and the settings that belong to it. @throws SettingError that names one */
export function readApi(context: Context): ApiChoice {
  const mode = choice(context, 'api', ['api-key', 'iam', 'jwt', 'off']);
  refuseIdle(context, mode === 'iam' ? [] : IAM_SETTINGS, `no value, since api is ${mode} and not iam`);
  refuseIdle(context, mode === 'jwt' ? [] : JWT_SETTINGS, `no value, since api is ${mode} and not jwt`);
  switch (mode) {
    case 'iam':
      return { mode, scopes: readIamScopes(context), ...readFront(context) };
    case 'jwt':
      return { mode, ...readTokens(context), ...readFront(context) };
    case 'api-key':
      return { mode, ...readFront(context) };
    case 'off':
      refuseIdle(context, FRONT_SETTINGS, 'no value, since api is off');
      return { mode };
  }
}

function readTokens(context: Context): Omit<JwtChoice, 'mode'> {
  const issuer = required(context, 'jwtIssuer', 'the issuer of the tokens, since api is jwt');
  return {
    issuer: check('jwtIssuer', issuer, FORMS.issuer),
    audience: required(context, 'jwtAudience', 'the audience of the tokens, since api is jwt'),
    ...present({ jwks: formed(context, 'jwtJwks', FORMS.issuer), algorithms: readAlgorithms(context) }),
  };
}

function readAlgorithms(context: Context): string | undefined {
  const words = list(context, 'jwtAlgorithms');
  for (const word of words) {
    if (SIGNATURES.includes(word)) continue;
    throw new SettingError('jwtAlgorithms', `a comma-separated list of ${SIGNATURES.join(', ')}`, word);
  }
  return words.length === 0 ? undefined : words.join();
}

function readFront(context: Context): ApiFront {
  const [rate, burst] = [optional(context, 'apiRateLimit'), optional(context, 'apiBurstLimit')];
  const domain = readDomain(context);
  return {
    ...(rate !== undefined && { rateLimit: number('apiRateLimit', rate) }),
    ...(burst !== undefined && { burstLimit: number('apiBurstLimit', burst) }),
    ...(choice(context, 'apiAccessLog', ['on', 'off']) === 'off' && { accessLog: false }),
    ...(domain && { domain }),
  };
}

function readDomain(context: Context): ApiFront['domain'] {
  const name = formed(context, 'apiDomain', FORMS.domain);
  if (name === undefined) {
    refuseIdle(context, ['apiCertificate'], 'no value, since apiDomain is not set');
    return undefined;
  }
  const because = `${FORMS.certificate.expected}, since apiDomain is set`;
  const certificate = required(context, 'apiCertificate', because);
  return { name, certificate: check('apiCertificate', certificate, FORMS.certificate) };
}

const IAM_EXAMPLE = '{"arn:aws:sts::123456789012:assumed-role/OnCall/*": ["operator"]}';

function readIamScopes(context: Context): string {
  const scopes = checkIamScopes('apiIamScopes', readObject(context, 'apiIamScopes', IAM_EXAMPLE));
  if (Object.keys(scopes).length > 0) return JSON.stringify(scopes);
  throw new SettingError('apiIamScopes', `JSON such as ${IAM_EXAMPLE}, since api is iam`, undefined);
}

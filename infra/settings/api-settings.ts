import { SettingError } from '../../core/errors.ts';
import { type Context, choice, readObject, refuseIdle, required } from './context.ts';
import { check, checkIamScopes, FORMS } from './setting-values.ts';

/** How the API authenticates callers, or `off` for no API. */
export type ApiChoice =
  | { readonly mode: 'off' }
  | { readonly mode: 'api-key' }
  /** `scopes`: JSON with scopes or roles by ARN pattern. */
  | { readonly mode: 'iam'; readonly scopes: string }
  | { readonly mode: 'jwt'; readonly issuer: string; readonly audience: string };

/** Reads `api` and the settings that belong to it. */
export function readApi(context: Context): ApiChoice {
  const mode = choice(context, 'api', ['api-key', 'iam', 'jwt', 'off']);
  refuseIdle(context, mode === 'iam' ? [] : ['apiIamScopes'], `no value, since api is ${mode} and not iam`);
  refuseIdle(context, mode === 'jwt' ? [] : ['jwtIssuer', 'jwtAudience'], `no value, since api is ${mode} and not jwt`);
  switch (mode) {
    case 'iam':
      return { mode, scopes: readIamScopes(context) };
    case 'jwt':
      return {
        mode,
        issuer: check(
          'jwtIssuer',
          required(context, 'jwtIssuer', 'the issuer of the tokens, since api is jwt'),
          FORMS.issuer,
        ),
        audience: required(context, 'jwtAudience', 'the audience of the tokens, since api is jwt'),
      };
    case 'api-key':
      return { mode };
    case 'off':
      return { mode };
  }
}

const IAM_EXAMPLE = '{"arn:aws:sts::123456789012:assumed-role/OnCall/*": ["operator"]}';

function readIamScopes(context: Context): string {
  const scopes = checkIamScopes('apiIamScopes', readObject(context, 'apiIamScopes', IAM_EXAMPLE));
  if (Object.keys(scopes).length > 0) return JSON.stringify(scopes);
  throw new SettingError('apiIamScopes', `JSON such as ${IAM_EXAMPLE}, since api is iam`, undefined);
}

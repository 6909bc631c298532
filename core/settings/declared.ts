import { SettingError } from '../errors.ts';

/** A setting must have a value, or has this one if the environment contains none. */
export type SettingOption = 'required' | { readonly default: string };
export type SettingOptions = Readonly<Record<string, SettingOption>>;

/** The settings and secrets that the definition of a handler names. */
export interface Declared {
  readonly settings?: SettingOptions;
  readonly secrets?: readonly string[];
}

/** Each secret is a request at the start of a process. */
const MOST_SECRETS = 20;
/** Lambda requires two characters, a letter first. */
const NAME = /^[A-Za-z]\w{1,99}$/;
const NAME_EXPECTED = 'a name of 2 to 100 letters, digits or _, a letter first';
const RESERVED =
  /^(?:AWS_|LAMBDA_|MILLRACE_)|^(?:DATABASE_URL|LANG|LD_LIBRARY_PATH|LD_PRELOAD|NODE_OPTIONS|NODE_PATH|PATH|TZ)$/;
const UNRESERVED = 'a name that neither Lambda nor Millrace uses';

/** Returns why a name cannot be that of a setting or a secret, as what is expected of it; undefined if it can. */
export function nameFault(name: unknown): string | undefined {
  if (typeof name !== 'string' || !NAME.test(name)) return NAME_EXPECTED;
  return RESERVED.test(name) ? UNRESERVED : undefined;
}

/** @throws SettingError that names the setting or the secret, as an option of `defineHandler` */
export function checkDeclared({ settings = {}, secrets = [] }: Declared): void {
  if (Object.prototype.toString.call(settings) !== '[object Object]') {
    throw new SettingError('settings', "an object such as { API_URL: 'required' }", settings);
  }
  for (const [name, option] of Object.entries(settings)) checkSetting(name, option);
  if (!Array.isArray(secrets)) throw new SettingError('secrets', "a list of names, such as ['API_TOKEN']", secrets);
  if (secrets.length > MOST_SECRETS) throw new SettingError('secrets', `at most ${MOST_SECRETS}`, secrets.length);
  for (const [index, name] of secrets.entries()) {
    const fault = nameFault(name) ?? repetition(name, { settings, before: secrets.slice(0, index) });
    if (fault !== undefined) throw new SettingError(`secrets[${index}]`, fault, name);
  }
}

function checkSetting(name: string, option: unknown): void {
  const fault = nameFault(name);
  // The name is not part of the field: it can have any length.
  if (fault !== undefined) throw new SettingError('settings', fault, name);
  if (option === 'required' || isDefault(option)) return;
  throw new SettingError(`settings.${name}`, "'required' or { default: '…' }", option);
}

function isDefault(option: unknown): boolean {
  if (typeof option !== 'object' || option === null) return false;
  const { default: value, ...others } = option as { default?: unknown };
  return typeof value === 'string' && Object.keys(others).length === 0;
}

interface Others {
  readonly settings: object;
  readonly before: readonly string[];
}

function repetition(name: string, { settings, before }: Others): string | undefined {
  if (Object.hasOwn(settings, name)) return 'a name that is not in settings';
  return before.includes(name) ? 'each name once' : undefined;
}

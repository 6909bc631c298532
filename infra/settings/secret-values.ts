import { SettingError } from '../../core/errors.ts';

/** The last word of the name of a secret. `MAX_TOKENS`, `SECRETARY_EMAIL` and `PASSWORD_POLICY` end in other words. */
const LAST_WORD =
  /(?:^|_)(?:PASS|PASSWD|PASSWORDS?|PASSPHRASE|PW|PWD|SECRETS?|TOKEN|SALT|DSN|AUTH|CREDENTIALS?|\w*(?:API|ACCESS|SECRET)KEY|KEY)$/;
/** Keys that are names or are published. */
const HARMLESS_KEY = /(?:^|_)(?:CACHE|FOREIGN|GROUP|MESSAGE|OBJECT|PARTITION|PRIMARY|PUBLIC|ROUTING|SORT)_KEY$/;
/** Addresses in place of secrets: of a secret, a parameter or an encryption key. */
const ADDRESS =
  /^arn:[\w-]+:(?:secretsmanager:[\w-]+:\d{12}:secret:.+-\w{6}|ssm:[\w-]+:\d{12}:parameter\/.+|kms:[\w-]+:\d{12}:(?:key|alias)\/.+)$/;
const SWITCH = /^(?:true|false|on|off|yes|no|none)?$/i;

/** What issuers of keys put in front of them, and other forms that only secrets have. */
const FORMS_OF_SECRETS = [
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /^(?:sk|rk|pk)_(?:live|test)_|^whsec_|^sk-[\w-]{16}/,
  /^(?:AKIA|ASIA)[A-Z0-9]{16}$|^AIza[\w-]{35}$/,
  /^(?:gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|npm_|shpat_|dop_v1_|SG\.)\w/,
  /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/,
];
/** A user and a password, or a secret in the query of a URL. */
const PASSWORD_IN_URL = /:\/\/[^/@\s]*:[^/@\s]+@/;
const SECRET_IN_QUERY =
  /[?&](?:sig|pass|pwd|key|[\w.-]{0,50}(?:password|passwd|secret|token|credential|api[_-]?key|access[_-]?key))=[^&\s]/i;

const SHORTEST_RANDOM = 20;
/** Random text changes between letters, capitals and digits at almost every character; words do so at their borders. */
const RUN = /[A-Z]?[a-z]+|[A-Z]+|\d+/g;
const SHORTEST_WORDS = 2.5;

/**
 * Refuses a setting that looks like a secret, by its name or its value: templates and the settings of functions are
 * readable. Does not repeat the value.
 * @param notSecret names that the deployment lists as harmless
 * @throws SettingError that names the setting
 */
export function refuseSecret(field: string, value: string, notSecret: readonly string[]): void {
  const name = field.split('.').at(-1) ?? field;
  if (notSecret.includes(name) || !(isNamedSecret(name, value) || isSecretValue(value))) return;
  const expected =
    'no secret, since the template is readable: store it in Secrets Manager, and list it in secrets of its handler; ' +
    `if it only looks like one, list ${name} in notSecret`;
  throw new SettingError(field, expected, '***');
}

function isNamedSecret(name: string, value: string): boolean {
  // `smtpPassword` has the words of SMTP_PASSWORD.
  const words = name.replace(/([a-z\d])([A-Z])/g, '$1_$2').toUpperCase();
  return LAST_WORD.test(words) && !HARMLESS_KEY.test(words) && !ADDRESS.test(value) && !SWITCH.test(value);
}

function isSecretValue(value: string): boolean {
  const forms = [...FORMS_OF_SECRETS, PASSWORD_IN_URL, SECRET_IN_QUERY];
  return forms.some((form) => form.test(value)) || isRandom(value);
}

function isRandom(value: string): boolean {
  if (value.length < SHORTEST_RANDOM || !/^[\w+/=-]+$/.test(value)) return false;
  if (![/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(value))) return false;
  const runs = value.match(RUN) ?? [];
  return runs.join('').length / runs.length < SHORTEST_WORDS;
}

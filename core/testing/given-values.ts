import { SettingError } from '../errors.ts';
import type { HandlerDefinition } from '../handler/handler.ts';
import { handlerName } from '../handler/naming.ts';
import { refuseAll } from '../settings/faults.ts';
import { givenSecrets, lookupIn, missingValues, type NamedValues, withDefaults } from '../settings/named-values.ts';
import { openRedactor } from '../settings/redactor.ts';

/** The values of the settings and secrets that handlers name. */
export interface GivenValues {
  /** Values of settings by name; default: those of the definition. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Values of secrets by name. */
  readonly secrets?: Readonly<Record<string, string>>;
}

const EXPECTED = {
  setting: (name: string) => `{ ${name}: '…' } in the option settings`,
  secret: (name: string) => `{ ${name}: '…' } in the option secrets`,
};

/**
 * Returns what a handler's definition names. The environment of the process is not read.
 * @throws SettingError that names each missing value
 */
export function valuesFor(handler: HandlerDefinition, { settings = {}, secrets = {} }: GivenValues): NamedValues {
  const [ofSettings, ofSecrets] = [lookupIn(settings), lookupIn(secrets)];
  const faults = missingValues(handler, { settings: ofSettings, secrets: ofSecrets, expected: EXPECTED });
  refuseAll(faults.map((fault) => fault.at(`${handlerName(handler)}: `)));
  const redactor = openRedactor();
  const known = givenSecrets(handler, ofSecrets);
  for (const [name, value] of Object.entries(known)) redactor.add(name, value);
  return { settings: withDefaults(handler, ofSettings), secrets: known, redact: redactor.redact };
}

/** @throws SettingError for a value that no definition names: its name is probably misspelled */
export function refuseUnnamed(
  handlers: readonly HandlerDefinition[],
  { settings = {}, secrets = {} }: GivenValues,
): void {
  const named = {
    settings: handlers.flatMap((handler) => Object.keys(handler.settings ?? {})),
    secrets: handlers.flatMap((handler) => handler.secrets ?? []),
  };
  for (const [option, given] of Object.entries({ settings, secrets })) {
    const names = named[option as keyof typeof named];
    const unknown = Object.keys(given).find((name) => !names.includes(name));
    if (unknown === undefined) continue;
    const expected = names.length === 0 ? 'none, since the definition names none' : `one of ${names.join(', ')}`;
    throw new SettingError(option, expected, unknown);
  }
}

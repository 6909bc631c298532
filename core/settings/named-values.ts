import { SettingError } from '../errors.ts';
import type { Declared } from './declared.ts';

/** What the settings and secrets of a definition are in an attempt. */
export interface NamedValues {
  readonly settings: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** Replaces the values of the secrets in a text by `***`. */
  readonly redact?: (text: string) => string;
}

/** Returns the value that an environment has for a name. Text without a character counts as none. */
export type Lookup = (name: string) => string | undefined;

/** Looks up the own properties of an object: a setting can have the name `constructor`. */
export function lookupIn(values: Readonly<Record<string, string | undefined>>): Lookup {
  return (name) => (Object.hasOwn(values, name) ? values[name]?.trim() || undefined : undefined);
}

/** Returns the values that an environment has for the settings of a definition, without defaults. */
export function givenSettings({ settings = {} }: Declared, lookup: Lookup): Record<string, string> {
  return valuesOf(Object.keys(settings), lookup);
}

/** Returns the values that an environment has for the secrets of a definition. */
export function givenSecrets({ secrets = [] }: Declared, lookup: Lookup): Record<string, string> {
  return valuesOf(secrets, lookup);
}

function valuesOf(names: readonly string[], lookup: Lookup): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = lookup(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Returns the value of each setting: that of the environment, or the default. A missing one is absent. */
export function withDefaults(declared: Declared, lookup: Lookup): Record<string, string> {
  const defaults = Object.entries(declared.settings ?? {}).flatMap(([name, option]) =>
    option === 'required' ? [] : [[name, option.default]],
  );
  return { ...Object.fromEntries(defaults), ...givenSettings(declared, lookup) };
}

/** What an error says about a missing value: where a person sets it. */
export interface Expected {
  readonly setting: (name: string) => string;
  readonly secret: (name: string) => string;
}

interface Sources {
  readonly settings: Lookup;
  /** Returns what the environment has for a secret: its value, or its address. */
  readonly secrets: Lookup;
  readonly expected: Expected;
}

/** Returns an error for each setting without a value or a default, and for each secret without a value. */
export function missingValues(declared: Declared, { settings, secrets, expected }: Sources): SettingError[] {
  const required = Object.entries(declared.settings ?? {}).flatMap(([name, option]) =>
    option === 'required' && settings(name) === undefined ? [name] : [],
  );
  const unknown = (declared.secrets ?? []).filter((name) => secrets(name) === undefined);
  return [
    ...required.map((name) => new SettingError(`settings.${name}`, expected.setting(name), undefined)),
    ...unknown.map((name) => new SettingError(`secrets.${name}`, expected.secret(name), undefined)),
  ];
}

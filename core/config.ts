import { SettingError } from './errors.ts';

/**
 * One setting of the process's environment; this file is the only reader of it. An empty value counts as missing.
 * @param expected what the sentence of the error says, such as `an address such as smtp://mail.example.com:587`.
 * @throws SettingError that names the setting when it is missing.
 */
export function setting(name: string, expected: string): string {
  const value = optionalSetting(name);
  if (value === undefined) throw new SettingError(name, expected, undefined);
  return value;
}

export function optionalSetting(name: string): string | undefined {
  return process.env[name]?.trim() || undefined;
}

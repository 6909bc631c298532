import { SettingError } from '../../core/errors.ts';
import type { Context } from '../../core/settings/stage-list.ts';

export type { Context };

export function optional(context: Context, name: string): string | undefined {
  const value = context[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string' || typeof value === 'number') return String(value).trim();
  throw new SettingError(name, 'text', JSON.stringify(value));
}

export function required(context: Context, name: string, expected: string): string {
  const value = optional(context, name);
  if (value === undefined) throw new SettingError(name, expected, undefined);
  return value;
}

/** @throws SettingError for the first of these settings that is set although it has no effect. */
export function refuseIdle(context: Context, names: readonly string[], expected: string): void {
  const idle = names.find((name) => context[name] !== undefined && context[name] !== '');
  if (idle !== undefined) throw new SettingError(idle, expected, context[idle]);
}

/** Returns one of `choices`, the first by default. */
export function choice<Choice extends string>(
  context: Context,
  name: string,
  choices: readonly [Choice, ...Choice[]],
  usual = choices[0],
): Choice {
  const value = optional(context, name) ?? usual;
  const found = choices.find((one) => one === value);
  if (found === undefined) throw new SettingError(name, `one of ${choices.join(', ')}`, value);
  return found;
}

/** Returns whether a setting is on. */
export function isOn(context: Context, name: string, usual: boolean): boolean {
  return choice(context, name, ['on', 'off'], usual ? 'on' : 'off') === 'on';
}

export function list(context: Context, name: string): string[] {
  return (
    optional(context, name)
      ?.split(',')
      .map((word) => word.trim()) ?? []
  );
}

export function number(name: string, text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new SettingError(name, 'a whole number above 0', text);
}

/** Returns an object that `cdk.json` gives as an object, or `-c` as JSON. */
export function readObject(context: Context, name: string, example: string): Record<string, unknown> {
  const value = context[name] ?? {};
  const parsed: unknown = typeof value === 'string' ? parse(value) : value;
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  throw new SettingError(name, `JSON such as ${example}`, value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns `values` without the undefined ones. */
export function present<Values extends Readonly<Record<string, string | undefined>>>(
  values: Values,
): { [Name in keyof Values]?: NonNullable<Values[Name]> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof Values]?: NonNullable<Values[Name]> };
}

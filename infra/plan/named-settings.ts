import type { HandlerEntry } from '../../core/catalog/import-handler.ts';
import type { Variables } from '../../core/handler/variables.ts';
import { refuseAll } from '../../core/settings/faults.ts';
import { lookupIn, missingValues } from '../../core/settings/named-values.ts';
import { closest } from '../../core/text.ts';

/** What a deployment has for the settings and secrets that handlers name. */
export interface NamedSources {
  /** The environment of the app, and the setting `settings`, which overrides it. */
  readonly settings: Variables;
  /** The secrets by name. */
  readonly secrets: Readonly<Record<string, unknown>>;
}

const EXPECTED = {
  setting: (name: string) => `${name} in the environment of cdk, or in the setting settings, such as {"${name}": "…"}`,
  secret: (name: string) =>
    `its ARN in the setting secrets, such as {"${name}": "arn:…"}, after aws secretsmanager create-secret`,
};

/** @throws SettingError that names the handler and each setting and secret that the deployment lacks */
export function checkNamed(entries: readonly HandlerEntry[], { settings, secrets }: NamedSources): void {
  const hasSecret = (name: string) => (Object.hasOwn(secrets, name) ? name : undefined);
  const sources = { settings: lookupIn(settings), secrets: hasSecret, expected: EXPECTED };
  refuseAll(
    entries.flatMap(({ definition, name }) => missingValues(definition, sources).map((fault) => fault.at(`${name}: `))),
  );
}

/** Returns a sentence for each secret that no handler names. */
export function unnamedSecrets(entries: readonly HandlerEntry[], secrets: Readonly<Record<string, unknown>>): string[] {
  const named = entries.flatMap(({ definition }) => definition.secrets ?? []);
  return Object.keys(secrets)
    .filter((name) => !named.includes(name))
    .map((name) => {
      const similar = closest(name, named);
      const hint = similar === undefined ? 'no handler names it' : `did you mean ${similar}?`;
      return `secrets.${name} has no effect: ${hint}`;
    });
}

import type { Command } from 'commander';

/** Quotes text for a shell. */
export function quoted(text: string): string {
  return /^[\w.,:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Returns the command line again with its options, reading a file instead of the argument `given`. An address is
 * replaced by `…`, because it can contain a password.
 */
export function repeatWithFile(command: Command, given: string, file: string): string {
  const path = [command.parent?.parent ? command.parent.name() : '', command.name()].filter((name) => name !== '');
  const words = command.args.map((word) => (word === given ? '-' : quoted(word)));
  const flags = command.options.flatMap((option) => {
    if (command.getOptionValueSource(option.attributeName()) !== 'cli') return [];
    const value: unknown = command.getOptionValue(option.attributeName());
    if (value === true) return [`${option.long}`];
    return [`${option.long} ${quoted(value instanceof Date ? value.toISOString() : String(value))}`];
  });
  const { databaseUrl, apiUrl } = command.optsWithGlobals<{ databaseUrl?: string; apiUrl?: string }>();
  const target = [databaseUrl && '--database-url …', apiUrl && '--api-url …'].filter((part) => part !== undefined);
  return ['npx millrace', ...path, ...words, ...flags, ...target, '<', quoted(file)].join(' ');
}

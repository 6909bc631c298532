import type { Command } from 'commander';
import { shellWord } from '../../core/text.ts';

/**
 * Returns the command line again with its options, reading a file instead of the argument `given`. An address is
 * replaced by `…`, because it can contain a password.
 */
export function repeatWithFile(command: Command, given: string, file: string): string {
  const path = [command.parent?.parent ? command.parent.name() : '', command.name()].filter((name) => name !== '');
  const words = command.args.map((word) => (word === given ? '-' : shellWord(word)));
  const flags = command.options.flatMap((option) => {
    if (command.getOptionValueSource(option.attributeName()) !== 'cli') return [];
    const value: unknown = command.getOptionValue(option.attributeName());
    if (value === true) return [`${option.long}`];
    return [`${option.long} ${shellWord(value instanceof Date ? value.toISOString() : String(value))}`];
  });
  const { databaseUrl, apiUrl } = command.optsWithGlobals<{ databaseUrl?: string; apiUrl?: string }>();
  const target = [databaseUrl && '--database-url …', apiUrl && '--api-url …'].filter((part) => part !== undefined);
  return ['npx millrace', ...path, ...words, ...flags, ...target, '<', shellWord(file)].join(' ');
}

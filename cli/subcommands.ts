import type { Command } from 'commander';

/**
 * Answers a word that is none of a group's commands with those that there are: commander would say so of its default
 * command only that it takes no words.
 */
export function explainSubcommands(program: Command): void {
  program.hook('preSubcommand', (_program, group) => {
    const [, word = '-'] = program.args;
    if (group.commands.length === 0 || group.registeredArguments.length > 0 || word.startsWith('-')) return;
    const names = group.commands.flatMap((command) => [command.name(), ...command.aliases()]);
    if (word === 'help' || names.includes(word)) return;
    group.error(`unknown command ${group.name()} ${word}: expected ${group.name()} ${names.join(', ')}`);
  });
}

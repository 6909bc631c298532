import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';

/** Joins a command to what it does. Its own options and those of the program come in one object; nothing means done. */
export function action<Options extends object>(
  run: (options: Options & GlobalOptions, ...args: never[]) => Promise<ExitCode | number | undefined>,
): (this: Command) => Promise<void> {
  return async function (this: Command) {
    const code = await run(this.optsWithGlobals(), ...(this.processedArgs as never[]));
    process.exitCode = code ?? EXIT.done;
  };
}

/** What `-h` begins with. */
export function examples(...lines: readonly string[]): string {
  return `Examples:\n${lines.map((line) => `  $ npx millrace ${line}`).join('\n')}\n`;
}

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

import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';

/**
 * Returns a commander action that gets the options of command and program in one object, the arguments, and the command
 * itself; no result means done.
 */
export function action<Options extends object>(
  run: (options: Options & GlobalOptions, ...args: never[]) => Promise<ExitCode | number | undefined>,
): (this: Command) => Promise<void> {
  return async function (this: Command) {
    const code = await run(this.optsWithGlobals(), ...(this.processedArgs as never[]), this as never);
    process.exitCode = code ?? EXIT.done;
  };
}

/** Rewords the usage errors of one command: commander would share a changed setting with the other commands. */
export function rewordErrors(command: Command, reword: (text: string) => string): Command {
  const { outputError } = command.configureOutput();
  return command.configureOutput({ outputError: (text, write) => outputError?.(reword(text), write) });
}

/** Returns the error about too many arguments with its usual cause: a shell splits at spaces, and replaces `*`. */
export function withQuotes(text: string, example: string): string {
  if (!text.startsWith('error: too many arguments')) return text;
  return `${text.trimEnd()} Put an argument with spaces or * in quotes, such as ${example}.\n`;
}

/** Returns the error about an option `--payload`, which the API has, with the argument that has its meaning here. */
export function withPayloadArgument(text: string): string {
  if (!/^error: unknown option '--payload['=]/.test(text)) return text;
  return "error: unknown option '--payload'; did you mean the argument [json]?\n";
}

/** Returns the examples below the options in a help text. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ npx millrace ${line}`).join('\n')}`;
}

/**
 * Reports an unknown subcommand of a group together with the known ones: commander would pass the word to the default
 * subcommand and report that this accepts no arguments.
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

import { Argument, type Command } from 'commander';
import { bashCompletion } from '../completion/bash.ts';
import { fishCompletion } from '../completion/fish.ts';
import { readPlaces } from '../completion/tree.ts';
import { zshCompletion } from '../completion/zsh.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action } from '../options/action.ts';
import { print } from '../screen/terminal.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

const EXAMPLES = `
Examples:
  $ source <(npx millrace completion bash)
  $ source <(npx millrace completion zsh)
  $ npx millrace completion fish | source`;

/** `millrace completion bash | zsh | fish` */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SHELLS)))
    .description('print a completion script for a shell; it also works for npx millrace')
    .addHelpText('after', EXAMPLES)
    .action(
      action(async (_options: GlobalOptions, shell: keyof typeof SHELLS) => {
        print(SHELLS[shell](readPlaces(program)));
        return undefined;
      }),
    );
}

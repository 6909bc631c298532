import type { Command } from 'commander';
import { init } from '../../local/init.ts';
import { nodeTooOld, packageManager } from '../../local/project-commands.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { toJson } from '../screen/json.ts';
import { print, printMessage } from '../screen/terminal.ts';

/** `millrace init`: writes a first handler into a project. */
export function addInit(program: Command): void {
  program
    .command('init')
    .description('write a first handler, its test and an app for AWS CDK into this folder; overwrites nothing')
    .addHelpText('after', examples('init'))
    .action(
      action(async ({ json }: GlobalOptions) => {
        const { language, written, skipped } = await init(process.cwd());
        if (json) {
          print(toJson({ written, skipped }));
          return undefined;
        }
        for (const line of written) print(`wrote    ${line}`);
        for (const line of skipped) print(`skipped  ${line}`);
        const manager = packageManager();
        const { run, install, addForDevelopment } = manager;
        const tooOld = language === 'TypeScript' ? nodeTooOld(manager) : undefined;
        if (tooOld !== undefined) printMessage(tooOld);
        printMessage(`Next: ${install}, then ${run} millrace dev, and in a second terminal:`);
        printMessage(`  ${run} millrace enqueue say_hello '{"name": "Ada"}' --watch`);
        printMessage(`To deploy: ${addForDevelopment} aws-cdk aws-cdk-lib constructs`);
        return undefined;
      }),
    );
}

import type { Command } from 'commander';
import { init } from '../../local/init.ts';
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
        const { written, skipped } = await init(process.cwd());
        if (json) {
          print(toJson({ written, skipped }));
          return undefined;
        }
        for (const line of written) print(`wrote    ${line}`);
        for (const line of skipped) print(`skipped  ${line}`);
        printMessage('Next: npm install, then npx millrace dev, and in a second terminal:');
        printMessage(`  npx millrace enqueue say_hello '{"name": "Ada"}' --watch`);
        printMessage('To deploy: npm install --save-dev aws-cdk aws-cdk-lib constructs');
        return undefined;
      }),
    );
}

import type { Command } from 'commander';
import { action, examples } from '../options/action.ts';
import { processNow } from '../process-now.ts';
import { toJson } from '../screen/json.ts';
import { print, printPairs, suggest } from '../screen/terminal.ts';

const MORE_HELP = `
Without --function it is the one behind --api-url, else that of MILLRACE_DISPATCHER_FUNCTION, else the one behind
MILLRACE_API_URL, else that of the stack that runs in this folder. On AWS the region and the credentials are those of
the AWS environment.`;

/** `millrace process` */
export function addProcess(program: Command): void {
  program
    .command('process')
    .description('have the dispatcher make a round now: claim what is due, send it')
    .option('--function <name>', 'the dispatcher on AWS, by the name of its function')
    .addHelpText('before', examples('process', 'process --function millrace-prod-dispatcher --json'))
    .addHelpText('after', MORE_HELP)
    .action(
      action<{ function?: string }>(async (options) => {
        const { claimed, sent } = await processNow(options.function, options);
        if (options.json) print(toJson({ claimed, sent }));
        else
          printPairs([
            ['claimed', claimed],
            ['sent', sent],
          ]);
        suggest(sent < claimed ? 'npx millrace doctor' : 'npx millrace stats');
        return undefined;
      }),
    );
}

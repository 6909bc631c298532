import type { Command } from 'commander';
import { openLog } from '../../core/log.ts';
import { action, examples } from '../action.ts';
import { findDispatcher } from '../dispatcher-target.ts';
import { toJson } from '../json.ts';
import { lambdaFailure } from '../lambda-failure.ts';
import { print, printPairs, suggest, whisper } from '../terminal.ts';

const MORE_HELP = `
Without --function it is that of MILLRACE_DISPATCHER_FUNCTION, else that of the stack that runs in this folder. On AWS
the region and the credentials are those of the AWS environment.`;

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
        const { functionName, address } = await findDispatcher(options.function, options);
        whisper(`Dispatcher: ${functionName}`);
        // Loaded here: nothing else needs Lambda's client.
        const { openDispatcherFunction } = await import('../../core/functions.ts');
        const dispatcher = openDispatcherFunction(
          functionName,
          openLog(() => undefined),
          address,
        );
        const { claimed, sent } = await dispatcher.processNow().catch((error: unknown) => {
          throw lambdaFailure(error, functionName);
        });
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

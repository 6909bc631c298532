import type { Command } from 'commander';
import type { Dispatched } from '../../core/aws/functions.ts';
import { optionalSetting } from '../../core/config.ts';
import { CLAIM_LIMITS } from '../../core/dispatch/claim-settings.ts';
import { openLog } from '../../core/log.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { whole } from '../options/values.ts';
import { toJson } from '../screen/json.ts';
import { print, printHint, printPairs, suggest } from '../screen/terminal.ts';
import type { ApiAddress } from '../target/api-address.ts';
import { lambdaFailure } from '../target/aws-failure.ts';
import { type DispatcherTarget, findStacksDispatcher } from '../target/own-stack.ts';
import { findTarget } from '../target/target.ts';

const MORE_HELP = `
Without --function, the command uses the dispatcher behind --api-url, else the one that MILLRACE_DISPATCHER_FUNCTION
names, else the one behind MILLRACE_API_URL, else that of the stack running in this folder. On AWS, it uses the region
and credentials of the AWS environment.`;

interface ProcessFlags {
  readonly function?: string;
  readonly limit?: number;
}

/** `millrace process` */
export function addProcess(program: Command): void {
  program
    .command('process')
    .description('run a round of the dispatcher now: claim due jobs and send them')
    .option('--limit <n>', 'claim at most this many jobs; default: all due jobs', whole(...CLAIM_LIMITS))
    .option('--function <name>', 'the function name of a dispatcher on AWS')
    .addHelpText(
      'after',
      examples('process', 'process --limit 100', 'process --function millrace-prod-dispatcher --json'),
    )
    .addHelpText('after', MORE_HELP)
    .action(
      action<ProcessFlags>(async (options) => {
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

/**
 * Runs a round of a dispatcher: the dispatcher named by the flag, else the one behind the API named by the flag, else
 * the one named by the environment, else that of the API or stack that the options name.
 */
async function processNow(named: string | undefined, options: GlobalOptions & ProcessFlags): Promise<Dispatched> {
  if (named !== undefined && options.apiUrl !== undefined) {
    throw new CommandFailure(EXIT.usage, 'use --function or --api-url, not both: each selects a dispatcher');
  }
  const known = named ?? (options.apiUrl === undefined ? optionalSetting('MILLRACE_DISPATCHER_FUNCTION') : undefined);
  const { limit } = options;
  if (known !== undefined) return invoke({ functionName: known, address: undefined }, limit);
  const target = await findTarget(options, ', or name a dispatcher on AWS with --function');
  return target.by === 'api' ? ask(target.address, limit) : invoke(await findStacksDispatcher(target.address), limit);
}

async function ask(address: ApiAddress, limit: number | undefined): Promise<Dispatched> {
  printHint(`API: ${address.label}`);
  // Loaded here: it imports zod for the API's schemas.
  const { processByApi } = await import('../backend/by-api/process.ts');
  return processByApi(address, limit);
}

async function invoke({ functionName, address }: DispatcherTarget, limit: number | undefined): Promise<Dispatched> {
  printHint(`Dispatcher: ${functionName}`);
  // Loaded here: it imports the Lambda client.
  const { openDispatcherFunction } = await import('../../core/aws/functions.ts');
  const log = openLog(() => undefined);
  return openDispatcherFunction({ functionName, log, address })
    .processNow(limit)
    .catch((error: unknown) => {
      throw lambdaFailure(error, functionName);
    });
}

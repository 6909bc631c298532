import { optionalSetting } from '../core/config.ts';
import type { Dispatched } from '../core/dispatch/dispatch.ts';
import { openLog } from '../core/log.ts';
import { CommandFailure } from './command-failure.ts';
import { type DispatcherTarget, findStacksDispatcher } from './dispatcher-target.ts';
import { EXIT } from './exit-code.ts';
import { lambdaFailure } from './lambda-failure.ts';
import { whisper } from './screen/terminal.ts';
import type { ApiAddress } from './target/api-address.ts';
import { findTarget, type GlobalOptions } from './target/target.ts';

/**
 * Has the dispatcher make a round: that of the flag, else the one behind the API of the flag, else that of the
 * environment, else the one of the API or stack that a command is about.
 */
export async function processNow(named: string | undefined, options: GlobalOptions): Promise<Dispatched> {
  if (named !== undefined && options.apiUrl !== undefined) {
    throw new CommandFailure(EXIT.usage, '--function or --api-url, not both: each says which dispatcher');
  }
  const known = named ?? (options.apiUrl === undefined ? optionalSetting('MILLRACE_DISPATCHER_FUNCTION') : undefined);
  if (known !== undefined) return invoke({ functionName: known, address: undefined });
  const target = await findTarget(options, ', or name a dispatcher on AWS with --function');
  return target.by === 'api' ? ask(target.address) : invoke(await findStacksDispatcher(target.address));
}

async function ask(address: ApiAddress): Promise<Dispatched> {
  whisper(`API: ${address.label}`);
  const { processByApi } = await import('./backend/by-api/process.ts');
  return processByApi(address);
}

async function invoke({ functionName, address }: DispatcherTarget): Promise<Dispatched> {
  whisper(`Dispatcher: ${functionName}`);
  // Loaded here: nothing else needs Lambda's client.
  const { openDispatcherFunction } = await import('../core/aws/functions.ts');
  const log = openLog(() => undefined);
  return openDispatcherFunction(functionName, log, address)
    .processNow()
    .catch((error: unknown) => {
      throw lambdaFailure(error, functionName);
    });
}

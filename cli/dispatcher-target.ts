import { optionalSetting } from '../core/config.ts';
import type { LambdaAddress } from '../core/functions.ts';
import { CommandFailure } from './command-failure.ts';
import { EXIT } from './exit-code.ts';
import { findDatabase, findStack, type GlobalOptions } from './target.ts';

export interface DispatcherTarget {
  readonly functionName: string;
  /** Undefined for the Lambda that the AWS environment names. */
  readonly address: LambdaAddress | undefined;
}

/** Of the stack that runs here: its stage is part of every name in it. */
const LOCAL_FUNCTION = 'millrace-local-dispatcher';

/**
 * The dispatcher that a command is about: the flag, else the environment, both of AWS; else that of the running stack.
 * @throws CommandFailure when another database than the stack's was named, whose dispatcher nobody knows here.
 */
export async function findDispatcher(named: string | undefined, options: GlobalOptions): Promise<DispatcherTarget> {
  const functionName = named ?? optionalSetting('MILLRACE_DISPATCHER_FUNCTION');
  if (functionName !== undefined) return { functionName, address: undefined };
  const { state } = await findStack(', or name a dispatcher on AWS with --function');
  const { label } = await findDatabase(options);
  const stack = await findDatabase({ databaseUrl: state.databaseUrl });
  if (stack.label !== label) {
    throw new CommandFailure(
      EXIT.usage,
      `the stack of this folder works on another database than ${label}: name the dispatcher with --function`,
    );
  }
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  return {
    functionName: LOCAL_FUNCTION,
    address: { endpoint: state.lambdaEndpoint, region: 'us-east-1', credentials },
  };
}

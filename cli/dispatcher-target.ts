import type { AwsAddress } from '../core/aws-address.ts';
import { optionalSetting } from '../core/config.ts';
import { functionName } from '../core/naming.ts';
import { STAGE } from '../local/handler-bundles.ts';
import { CommandFailure } from './command-failure.ts';
import { EXIT } from './exit-code.ts';
import { addressOf, isDatabaseOf } from './own-stack.ts';
import { findDatabase, findStack, type GlobalOptions } from './target.ts';

export interface DispatcherTarget {
  readonly functionName: string;
  /** Undefined for the Lambda that the AWS environment names. */
  readonly address: AwsAddress | undefined;
}

/**
 * The dispatcher that a command is about: the flag, else the environment, both of AWS; else that of the running stack.
 * @throws CommandFailure when another database than the stack's was named, whose dispatcher nobody knows here.
 */
export async function findDispatcher(named: string | undefined, options: GlobalOptions): Promise<DispatcherTarget> {
  const known = named ?? optionalSetting('MILLRACE_DISPATCHER_FUNCTION');
  if (known !== undefined) return { functionName: known, address: undefined };
  const found = await findStack(', or name a dispatcher on AWS with --function');
  const database = await findDatabase(options);
  if (!isDatabaseOf(found, database)) {
    throw new CommandFailure(
      EXIT.usage,
      `the stack of this folder works on another database than ${database.label}: name the dispatcher with --function`,
    );
  }
  return { functionName: functionName(STAGE, 'dispatcher'), address: addressOf(found.state.lambdaEndpoint) };
}

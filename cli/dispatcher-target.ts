import type { AwsAddress } from '../core/aws-address.ts';
import { functionName } from '../core/handler/naming.ts';
import { STAGE } from '../local/state.ts';
import { CommandFailure } from './command-failure.ts';
import { EXIT } from './exit-code.ts';
import type { DatabaseAddress } from './target/database-address.ts';
import { addressOf, isDatabaseOf } from './target/own-stack.ts';
import { findStack } from './target/target.ts';

export interface DispatcherTarget {
  readonly functionName: string;
  /** Undefined for the Lambda that the AWS environment names. */
  readonly address: AwsAddress | undefined;
}

/**
 * The dispatcher of the running stack.
 * @throws CommandFailure when another database than the stack's was named, whose dispatcher nobody knows here.
 */
export async function findStacksDispatcher(database: DatabaseAddress): Promise<DispatcherTarget> {
  const found = await findStack(', or name a dispatcher on AWS with --function');
  if (!isDatabaseOf(found, database)) {
    throw new CommandFailure(
      EXIT.usage,
      `the stack of this folder works on another database than ${database.label}: name the dispatcher with --function`,
    );
  }
  return { functionName: functionName(STAGE, 'dispatcher'), address: addressOf(found.state.lambdaEndpoint) };
}

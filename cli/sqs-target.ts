import type { AwsAddress } from '../core/aws-address.ts';
import { addressOf, findOwnStack } from './target/own-stack.ts';
import type { GlobalOptions } from './target/target.ts';

/** Where a stack's SQS is. @returns undefined for the one that the AWS environment names. */
export async function findSqs(options: GlobalOptions): Promise<AwsAddress | undefined> {
  const found = await findOwnStack(options);
  return found && addressOf(found.state.sqsEndpoint);
}

import type { AwsAddress } from '../../core/aws/clients.ts';
import type { DeployedAddress } from '../../core/aws/deployed.ts';
import { functionName } from '../../core/handler/naming.ts';
import { CREDENTIALS, type DevState, type FoundState, findState, isRunning, REGION, STAGE } from '../../local/state.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { type DatabaseAddress, readAddress } from './database-address.ts';
import { findStack, findTarget } from './target.ts';

/**
 * Returns the running stack of this folder or of one above it, if the options name its database: the messages of
 * another database are in other queues.
 */
export async function findOwnStack(options: GlobalOptions): Promise<FoundState | undefined> {
  const { by, address: database } = await findTarget(options);
  // The database behind an API is unknown here.
  if (by === 'api') return undefined;
  const found = await findState().catch(() => undefined);
  if (found === undefined || !(await isRunning(found.state))) return undefined;
  return isDatabaseOf(found, database) ? found : undefined;
}

function isDatabaseOf({ state }: FoundState, { label }: DatabaseAddress): boolean {
  return readAddress(state.databaseUrl, '.millrace/dev.json').label === label;
}

/** Returns the addresses of the services of a stack on this machine. */
export function addressesOf({ sqsEndpoint, lambdaEndpoint, lambdaAccessKeyId }: DevState): DeployedAddress {
  const credentials = { ...CREDENTIALS, accessKeyId: lambdaAccessKeyId };
  return {
    sqs: { endpoint: sqsEndpoint, region: REGION, credentials: CREDENTIALS },
    lambda: { endpoint: lambdaEndpoint, region: REGION, credentials },
  };
}

/** Returns the address of the stack's SQS; undefined for the SQS of the AWS environment. */
export async function findSqs(options: GlobalOptions): Promise<AwsAddress | undefined> {
  const found = await findOwnStack(options);
  return found && addressesOf(found.state).sqs;
}

export interface DispatcherTarget {
  readonly functionName: string;
  /** Undefined for the Lambda of the AWS environment. */
  readonly address: AwsAddress | undefined;
}

/**
 * Returns the dispatcher of the running stack.
 * @throws CommandFailure when the options name a database that is not the stack's, because its dispatcher is unknown.
 */
export async function findStacksDispatcher(database: DatabaseAddress): Promise<DispatcherTarget> {
  const found = await findStack(', or name a dispatcher on AWS with --function');
  if (!isDatabaseOf(found, database)) {
    throw new CommandFailure(
      EXIT.usage,
      `the stack of this folder does not use ${database.label}: name the dispatcher with --function`,
    );
  }
  return { functionName: functionName(STAGE, 'dispatcher'), address: addressesOf(found.state).lambda };
}

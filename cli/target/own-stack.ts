import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { AwsAddress } from '../../core/aws/batches.ts';
import { functionName } from '../../core/handler/naming.ts';
import { CREDENTIALS, type FoundState, findState, isRunning, REGION, STAGE } from '../../local/state.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { type DatabaseAddress, readAddress } from './database-address.ts';
import { findStack, findTarget } from './target.ts';

/**
 * The running stack of this folder or of one above it, if a command is about its database: another database's messages
 * are in other queues, whatever runs here.
 */
export async function findOwnStack(options: GlobalOptions): Promise<FoundState | undefined> {
  const { by, address: database } = await findTarget(options);
  // What is behind an API is not known here.
  if (by === 'api') return undefined;
  const found = await findState().catch(() => undefined);
  if (found === undefined || !(await isRunning(found.state))) return undefined;
  return isDatabaseOf(found, database) ? found : undefined;
}

function isDatabaseOf({ state }: FoundState, { label }: DatabaseAddress): boolean {
  return readAddress(state.databaseUrl, '.millrace/dev.json').label === label;
}

/** A service of a stack on this machine. */
export function addressOf(endpoint: string): AwsAddress {
  return { endpoint, region: REGION, credentials: CREDENTIALS };
}

/** Where a stack's SQS is. @returns undefined for the one that the AWS environment names. */
export async function findSqs(options: GlobalOptions): Promise<AwsAddress | undefined> {
  const found = await findOwnStack(options);
  return found && addressOf(found.state.sqsEndpoint);
}

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

/** The nearest `functions/handlers`, here or above. */
export function findHandlers(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const handlers = join(folder, 'functions', 'handlers');
    if (existsSync(handlers)) return handlers;
    if (folder === dirname(folder)) return undefined;
  }
}

import type { AwsAddress } from '../../core/aws-address.ts';
import { CREDENTIALS, type FoundState, findState, isRunning, REGION } from '../../local/state.ts';
import { type DatabaseAddress, readAddress } from './database-address.ts';
import { findTarget, type GlobalOptions } from './target.ts';

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

export function isDatabaseOf({ state }: FoundState, { label }: DatabaseAddress): boolean {
  return readAddress(state.databaseUrl, '.millrace/dev.json').label === label;
}

/** A service of a stack on this machine. */
export function addressOf(endpoint: string): AwsAddress {
  return { endpoint, region: REGION, credentials: CREDENTIALS };
}

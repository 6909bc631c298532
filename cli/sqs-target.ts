import type { SqsAddress } from '../core/dead-letter-queues.ts';
import { findState, isRunning } from '../local/state.ts';
import { findDatabase, type GlobalOptions } from './target.ts';

/** Where a stack's SQS is. @returns undefined for the one that the AWS environment names. */
export async function findSqs(options: GlobalOptions): Promise<SqsAddress | undefined> {
  const { label } = await findDatabase(options);
  const found = await findState().catch(() => undefined);
  if (found === undefined || !(await isRunning(found.state))) return undefined;
  const stack = await findDatabase({ databaseUrl: found.state.databaseUrl });
  // Another database's messages are in other queues, whatever runs in this folder.
  if (stack.label !== label) return undefined;
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  return { endpoint: found.state.sqsEndpoint, region: 'us-east-1', credentials };
}

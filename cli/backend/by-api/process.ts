import { Round } from '../../../api/documents/documents.ts';
import type { ApiAddress } from '../../target/api-address.ts';
import { openClient } from './client.ts';

/** A gateway waits at most this long, and a round can have many messages to send. */
const LONGEST_SECONDS = 30;

/** Runs a round of the dispatcher, which claims at most `limit` jobs. */
export async function processByApi(
  address: ApiAddress,
  limit: number | undefined,
): Promise<{ claimed: number; sent: number }> {
  const body = limit === undefined ? {} : { body: JSON.stringify({ limit }) };
  const asked = { method: 'POST', seconds: LONGEST_SECONDS, ...body } as const;
  return (await openClient(address).request('/admin/jobs/process', Round, asked)).document;
}

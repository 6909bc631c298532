import { Round } from '../../../api/documents.ts';
import type { ApiAddress } from '../../target/api-address.ts';
import { openClient } from './client.ts';

/** A gateway waits at most this long, and a round can have many messages to send. */
const LONGEST_SECONDS = 30;

/** Runs a round of the dispatcher. */
export async function processByApi(address: ApiAddress): Promise<{ claimed: number; sent: number }> {
  const asked = { method: 'POST', seconds: LONGEST_SECONDS } as const;
  return (await openClient(address).request('/admin/jobs/process', Round, asked)).document;
}

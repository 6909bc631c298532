import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../core/postgres/database.ts';
import { endInterrupted, type FunctionRequest } from '../core/run/rescue-lost.ts';

const FILE = 'running-at-stop.json';
const REASON = 'ended by the stop of the stack that ran it: it runs again and uses no attempt';

/**
 * Stores which requests run jobs while a stack stops. Synchronous: after a second Ctrl-C, every process is killed in
 * the same turn. A file that cannot be written costs only time: the attempts then end when their leases expire.
 */
export function recordRunning(data: string, requests: readonly FunctionRequest[]): void {
  const text = JSON.stringify(requests.map(({ functionName, requestId }) => ({ functionName, requestId })));
  try {
    writeFileSync(join(data, FILE), text, { mode: 0o600 });
  } catch {
    // As above.
  }
}

/**
 * Ends the attempts that the stop of an earlier start cut off, so that none of them uses an attempt or waits for its
 * lease. Their processes have ended. Returns how many there were.
 */
export async function releaseCutOff(data: string, db: Database): Promise<number> {
  const requests = readRequests(join(data, FILE));
  if (requests.length === 0) return 0;
  const ended = await endInterrupted(db, requests, REASON);
  rmSync(join(data, FILE), { force: true });
  return ended;
}

function readRequests(file: string): readonly FunctionRequest[] {
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(found) ? found.filter(isRequest) : [];
  } catch {
    // There was no stop, or its process was killed while it wrote.
    return [];
  }
}

function isRequest(one: unknown): one is FunctionRequest {
  if (typeof one !== 'object' || one === null) return false;
  const { functionName, requestId } = one as Partial<FunctionRequest>;
  return typeof functionName === 'string' && typeof requestId === 'string';
}

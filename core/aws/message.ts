import { LARGEST_ID } from '../job.ts';

/** What goes over SQS: ids only, about a hundred bytes. The payload is read when the job starts. */
export interface JobMessage {
  readonly epoch: string;
  readonly jobId: string;
  readonly claimNo: string;
}

const VERSION = 1;
/** The largest bigint has 19 digits. */
const ID = /^[1-9]\d{0,18}$/;
/** What the database draws are hex digits. Anything longer or stranger, a NUL above all, would fail the whole batch. */
const EPOCH = /^[\w-]{1,64}$/;

export function encodeMessage({ epoch, jobId, claimNo }: JobMessage): string {
  return JSON.stringify({ v: VERSION, epoch, job: jobId, claim: claimNo });
}

/** The message in a body, or undefined when it is not one of ours. Never throws, whatever the body. */
export function decodeMessage(body: string): JobMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { v, epoch, job, claim } = value as Record<string, unknown>;
  if (v !== VERSION || !isEpoch(epoch) || !isId(job) || !isId(claim)) return undefined;
  return { epoch, jobId: job, claimNo: claim };
}

function isEpoch(value: unknown): value is string {
  return typeof value === 'string' && EPOCH.test(value);
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value) && BigInt(value) <= LARGEST_ID;
}

import { isId } from '../job.ts';

/** The content of an SQS message: ids only, about a hundred bytes. The start of the job reads the payload. */
export interface JobMessage {
  readonly epoch: string;
  readonly jobId: string;
  readonly claimNo: string;
}

const VERSION = 1;
/** The database draws hex digits. Other text is refused, because a NUL would fail the statement of a whole batch. */
const EPOCH = /^[\w-]{1,64}$/;

export function encodeMessage({ epoch, jobId, claimNo }: JobMessage): string {
  return JSON.stringify({ v: VERSION, epoch, job: jobId, claim: claimNo });
}

/** Decodes a body; undefined if it is not a Millrace message. Never throws. */
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

import type { Database } from '../postgres/database.ts';
import { readOthers } from './read-others.ts';
import type { Begun, LiveRow, StartAnswer, StartBatch, Started, StartRequest } from './start-answer.ts';
import { startClaimed } from './start-claimed.ts';

/**
 * Starts and counts an attempt for every message whose claim is the row's. Returns one answer for each request, in
 * order. Requests must name each (job, claim) of one epoch once. The verdict of a locked row is `busy`.
 */
export async function start(db: Database, batch: StartBatch): Promise<Started> {
  const { requests } = batch;
  if (requests.length === 0) return { answers: [], retryPolicy: undefined };
  const begun = batch.lookOnly ? new Map<StartRequest, Begun>() : await startClaimed(db, batch);
  const others = await readOthers(db, batch, begun);
  const answers = requests.map((request) => {
    const one = begun.get(request);
    return one ? begunAnswer(batch, request, one) : (others.answers.get(request) ?? UNKNOWN);
  });
  return { answers, retryPolicy: begun.values().next().value?.retryPolicy ?? others.retryPolicy };
}

/** The answer when the row could not be read: the message stays in its queue. */
const UNKNOWN: StartAnswer = {
  verdict: 'busy',
  row: null,
  issued: false,
  native: true,
  payload: null,
  attempt: 0,
  maxAttempts: 0,
  waitSeconds: null,
  traceparent: null,
};

function begunAnswer({ jobType, routingKey }: StartBatch, { claimNo }: StartRequest, begun: Begun): StartAnswer {
  const { payload, attempt, maxAttempts, waitSeconds, traceparent } = begun;
  const before: LiveRow = {
    status: 'dispatched',
    claimNo,
    jobType,
    routingKey,
    messageId: null,
    sentAt: null,
    requestId: null,
  };
  const known = { row: before, issued: true, native: true } as const;
  return { verdict: 'started', ...known, payload, attempt, maxAttempts, waitSeconds, traceparent };
}

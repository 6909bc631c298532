import { createHash } from 'node:crypto';
import type { Dispatched } from '../aws/functions.ts';
import { encodeMessage } from '../aws/message.ts';
import type { Outgoing, Queues, SendVerdict } from '../aws/queues.ts';
import { queueNameOf } from '../handler/naming.ts';
import { type ClaimedJob, claim } from '../jobs/claim.ts';
import type { ClaimFloors } from '../jobs/claim-floors.ts';
import { confirmDispatch } from '../jobs/confirm.ts';
import { holdHandlers, storeRefusals } from '../jobs/hold.ts';
import { type Release, release } from '../jobs/release.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import { countSends, type Rounds } from './rounds.ts';

export interface DispatchDeps {
  readonly db: Database;
  readonly queues: Queues;
  readonly log: Log;
  /** The floors of the claims, which the caller keeps from one dispatch to the next. */
  readonly floors?: ClaimFloors;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Counts the messages that were sent and those that were not. */
  readonly rounds?: Rounds;
}

const FIRST_HOLD_SECONDS = 5;
const LONGEST_HOLD_SECONDS = 300;
/** Longest hold of a handler: of one whose queue is missing, or accepts nothing. */
const HANDLER_HOLD_SECONDS = 60;

/** Claims up to `limit` due jobs, sends their messages, and releases the jobs whose message was not sent. */
export async function dispatch(deps: DispatchDeps, limit: number): Promise<Dispatched> {
  return sendClaimed(deps, await claim(deps.db, limit, deps));
}

/** Sends the messages of claimed jobs, and releases the jobs whose message was not sent. */
export async function sendClaimed(deps: DispatchDeps, jobs: readonly ClaimedJob[]): Promise<Dispatched> {
  const [first] = jobs;
  if (first === undefined) return { claimed: 0, sent: 0 };
  const queues = Map.groupBy(jobs, ({ queueUrl }) => queueUrl);
  const sendings = [...queues].map(async ([queueUrl, group]) => {
    const verdicts = await deps.queues.send(queueUrl, group.map(toMessage));
    const refused = verdicts.some(({ kind }) => kind === 'refused' || kind === 'unknown');
    const before = group[0]?.refusals ?? 0;
    return { queueUrl, verdicts, before, refusals: refused ? before + 1 : 0 };
  });
  const results = await Promise.all(sendings);
  for (const { queueUrl, verdicts } of results) if (deps.rounds) countSends(deps.rounds, queueUrl, verdicts);
  const releases = results.flatMap((result) => toReleases(deps, first.claimNo, result));
  await holdUnsendable(deps, results);
  const changed = results.filter(({ before, refusals }) => before !== refusals);
  await storeRefusals(deps.db, new Map(changed.map(({ queueUrl, refusals }) => [queueUrl, refusals])));
  await release(deps.db, releases);
  const sent = jobs.length - releases.length;
  await confirmDispatch(deps.db, first.claimNo, { sent, refused: releases.length });
  deps.log.info('dispatched', { dispatch_id: first.claimNo, claimed: jobs.length, sent });
  return { claimed: jobs.length, sent };
}

interface Sending {
  readonly queueUrl: string;
  readonly verdicts: readonly SendVerdict[];
  /** Consecutive dispatches, up to this one, in which SQS refused messages for the queue. */
  readonly refusals: number;
}

function toMessage({ id, claimNo, groupKey, epoch }: ClaimedJob): Outgoing {
  const body = encodeMessage({ epoch, jobId: id, claimNo });
  // A group key can be any text, but SQS accepts only 128 plain characters.
  return groupKey === null ? { id, body } : { id, body, groupId: createHash('sha256').update(groupKey).digest('hex') };
}

/** Returns releases for all jobs without a confirmed send. If SQS has such a message after all, its claim is stale. */
function toReleases(deps: DispatchDeps, claimNo: string, { queueUrl, verdicts, refusals }: Sending): Release[] {
  const unsent = verdicts.filter(({ kind }) => kind !== 'sent');
  const [example] = unsent;
  if (example) {
    const kinds = Object.fromEntries(
      [...Map.groupBy(unsent, ({ kind }) => kind)].map(([kind, of]) => [kind, of.length]),
    );
    deps.log.error('send_refused', {
      queue: queueNameOf(queueUrl),
      dispatch_id: claimNo,
      ...kinds,
      reason: example.reason,
    });
  }
  // A job waits alone only if SQS accepted other messages of its queue. Otherwise its handler is held.
  const ownSeconds = acceptsNothing(verdicts) ? 0 : backoff(refusals, LONGEST_HOLD_SECONDS);
  return unsent.map(({ id, kind, reason }) => {
    if (kind === 'rejected') return { id, claimNo, holdSeconds: 0, fatal: `SQS refused the message: ${reason}` };
    return { id, claimNo, holdSeconds: kind === 'no_queue' ? 0 : ownSeconds };
  });
}

/** Returns the seconds of a wait, which doubles with each refusal. */
function backoff(refusals: number, longest: number): number {
  return Math.min(longest, FIRST_HOLD_SECONDS * 2 ** (refusals - 1));
}

/** Whether SQS accepted no message of a queue: the cause is SQS or the way to it, not a message. */
function acceptsNothing(verdicts: readonly SendVerdict[]): boolean {
  return verdicts.every(({ kind }) => kind === 'refused' || kind === 'unknown');
}

/** Holds the handlers of queues that are missing or accept nothing: no other job of theirs could be sent. */
async function holdUnsendable({ db }: DispatchDeps, results: readonly Sending[]): Promise<void> {
  const missing = results.filter(({ verdicts }) => verdicts.some(({ kind }) => kind === 'no_queue'));
  const queueUrls = missing.map(({ queueUrl }) => queueUrl);
  await holdHandlers(db, { queueUrls, seconds: HANDLER_HOLD_SECONDS, reason: 'its queue does not exist' });
  // One statement for each length: an outage concerns the queues of all handlers.
  const closed = results.filter(({ verdicts }) => acceptsNothing(verdicts));
  for (const [seconds, held] of Map.groupBy(closed, ({ refusals }) => backoff(refusals, HANDLER_HOLD_SECONDS))) {
    const urls = held.map(({ queueUrl }) => queueUrl);
    await holdHandlers(db, { queueUrls: urls, seconds, reason: 'SQS accepted none of its messages' });
  }
}

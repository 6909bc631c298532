import { adopt } from '../jobs/adopt.ts';
import { redrive } from '../jobs/redrive.ts';
import { release } from '../jobs/release.ts';
import { forgetLosses } from '../jobs/rescue.ts';
import { start } from '../jobs/start.ts';
import type { StartAnswer } from '../jobs/start-answer.ts';
import { type BatchDeps, bounce, type Disposal } from './batch.ts';
import { type Decision, type Delivery, decide, type Step } from './decide.ts';
import { deliveryFields } from './log-fields.ts';
import { readFinished } from './read-jobs.ts';

interface Answered {
  readonly delivery: Delivery;
  readonly answer: StartAnswer;
}

interface Judged {
  readonly delivery: Delivery;
  /** Messages of its job that were lost since the last start. */
  readonly losses: number;
  readonly decision: Decision;
}

/** Applies the decision table to every message that started no attempt. */
export async function applyDecisions(
  deps: BatchDeps,
  disposal: Disposal,
  others: readonly Answered[],
  twins: readonly Delivery[],
): Promise<void> {
  const answered = await withFinished(deps, [...others, ...(await readTwins(deps, twins))]);
  const judged = answered.map(({ delivery, answer }) => ({
    delivery,
    losses: answer.row?.losses ?? 0,
    decision: decide({ delivery, answer, handler: deps.definition }),
  }));
  for (const { delivery, decision } of judged) {
    const fields = { ...deliveryFields(delivery), step: decision.step };
    if (decision.alarm) deps.log.error('message_unexpected', { ...fields, reason: decision.alarm });
    else deps.log.info('message_not_started', fields);
  }
  const claims = (step: Step) => of(judged, step).map(({ delivery }) => ({ ...delivery, ...delivery.message }));
  const moved = new Set(await redrive(deps.db, claims('redrive'), 'sqs'));
  const released = await release(
    deps.db,
    claims('release').map(({ jobId, claimNo }) => ({ id: jobId, claimNo, holdSeconds: 0 })),
  );
  for (const id of released) moved.add(id);
  await adopt(deps.db, claims('adopt'));
  const late = of(judged, 'acknowledge').filter(({ decision, losses }) => losses > 0 && decision.alarm === undefined);
  await forgetLosses(
    deps.db,
    late.map(({ delivery }) => delivery.message.jobId),
  );
  for (const { delivery, decision } of judged) dispose(disposal, { delivery, step: decision.step, moved });
}

/** Records what happens to one message. SQS redelivers it after a redrive or release that moved nothing. */
function dispose(
  disposal: Disposal,
  { delivery, step, moved }: { delivery: Delivery; step: Step; moved: ReadonlySet<string> },
): void {
  switch (step) {
    case 'bounce':
    case 'adopt':
      bounce(disposal, delivery);
      return;
    case 'leave':
      disposal.failed.add(delivery.messageId);
      return;
    case 'redrive':
    case 'release':
      if (!moved.has(delivery.message.jobId)) disposal.failed.add(delivery.messageId);
      return;
    case 'acknowledge':
      return;
  }
}

function of(judged: readonly Judged[], step: Step): Judged[] {
  return judged.filter(({ decision }) => decision.step === step);
}

/**
 * Adds the rows of finished jobs, because start reads live jobs only. A message with this database's epoch does not
 * require a row: its job is finished or pruned. One with another epoch is acknowledged only if its job finished here.
 */
async function withFinished(deps: BatchDeps, answered: readonly Answered[]): Promise<readonly Answered[]> {
  const isOpen = ({ answer }: Answered) => answer.row === null && answer.issued && !answer.native;
  const open = answered.filter(isOpen).map(({ delivery }) => delivery.message.jobId);
  const finished = await readFinished(deps.db, open);
  return answered.map(({ delivery, answer }) => ({
    delivery,
    answer: { ...answer, row: answer.row ?? finished.get(delivery.message.jobId) ?? null },
  }));
}

/** Reads the answers for second messages of a job in one batch, after the start of the first message. */
async function readTwins(deps: BatchDeps, twins: readonly Delivery[]) {
  if (twins.length === 0) return [];
  const { jobType, routingKey } = deps.definition;
  const requests = twins.map((delivery) => ({ ...delivery, ...delivery.message }));
  const { answers } = await start(deps.db, {
    jobType,
    routingKey,
    requestId: '',
    requests,
    suspects: false,
    leaseSeconds: 0,
    lookOnly: true,
  });
  return twins.map((delivery, index) => ({ delivery, answer: answers[index] as StartAnswer }));
}

import { type BatchDeps, bounce, type Disposal } from './batch.ts';
import { type Decision, type Delivery, decide, type Step } from './decide.ts';
import { adopt } from './jobs/adopt.ts';
import { redrive } from './jobs/redrive.ts';
import { release } from './jobs/release.ts';
import { type StartAnswer, start } from './jobs/start.ts';

interface Judged {
  readonly delivery: Delivery;
  readonly decision: Decision;
}

/** Does what the decision table says with every message that started nothing. */
export async function applyDecisions(
  deps: BatchDeps,
  disposal: Disposal,
  others: readonly { delivery: Delivery; answer: StartAnswer }[],
  twins: readonly Delivery[],
): Promise<void> {
  const answered = [...others, ...(await lookUp(deps, twins))];
  const judged = answered.map(({ delivery, answer }) => ({
    delivery,
    decision: decide({ delivery, answer, handler: deps.definition }),
  }));
  for (const { delivery, decision } of judged) {
    const fields = { job: delivery.message.jobId, message_id: delivery.messageId, step: decision.step };
    if (decision.alarm) deps.log.error('message_unexpected', { ...fields, reason: decision.alarm });
    else deps.log.info('message_not_started', fields);
  }
  const claims = (step: Step) => of(judged, step).map(({ delivery }) => ({ ...delivery, ...delivery.message }));
  await redrive(deps.db, claims('redrive'), 'sqs');
  await release(
    deps.db,
    claims('release').map(({ jobId, claimNo }) => ({ id: jobId, claimNo, holdSeconds: 0 })),
  );
  await adopt(deps.db, claims('adopt'));
  for (const { delivery, decision } of judged) dispose(disposal, delivery, decision.step);
}

function dispose(disposal: Disposal, delivery: Delivery, step: Step): void {
  switch (step) {
    case 'bounce':
    case 'adopt':
      bounce(disposal, delivery);
      return;
    case 'leave':
      disposal.failed.add(delivery.messageId);
      return;
    case 'acknowledge':
    case 'redrive':
    case 'release':
      return;
  }
}

function of(judged: readonly Judged[], step: Step): Judged[] {
  return judged.filter(({ decision }) => decision.step === step);
}

/** A second message of a job in the same batch: judged by how the job stands now. It can start nothing any more. */
async function lookUp(deps: BatchDeps, twins: readonly Delivery[]) {
  if (twins.length === 0) return [];
  const { jobType, routingKey } = deps.definition;
  const requests = twins.map((delivery) => ({ ...delivery, ...delivery.message }));
  const { answers } = await start(deps.db, {
    jobType,
    routingKey,
    requestId: '',
    requests,
    suspects: false,
    lookOnly: true,
  });
  return twins.map((delivery, index) => ({ delivery, answer: answers[index] as StartAnswer }));
}

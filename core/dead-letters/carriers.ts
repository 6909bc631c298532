import { encodeMessage } from '../aws/message.ts';
import type { Queues } from '../aws/queues.ts';
import { type Carried, carryMissing } from '../jobs/carry.ts';
import { confirmDispatch } from '../jobs/confirm.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import { readEpoch } from '../postgres/epoch.ts';
import { advance } from '../postgres/step.ts';
import type { Time } from '../time.ts';

interface CarryDeps {
  readonly db: Database;
  readonly queues: Pick<Queues, 'send'>;
  readonly log: Log;
  readonly time: Time;
}

const CARRY = { name: 'carry', everySeconds: 0 };
/** Dead letters that one part checks. */
const MOST = 1000;

/**
 * Sends a carrier for every dead job whose message is missing: the handler bounces it, and SQS moves it to the
 * dead-letter queue. A carrier that is lost too is replaced by a later run.
 * @param until time after which no part begins; the next run continues.
 */
export async function carry(deps: CarryDeps, until: number): Promise<void> {
  while (deps.time.now() < until) {
    const part = await advance(deps.db, CARRY, (tx, position) => carryMissing(tx, position, MOST));
    if (part !== undefined) await send(deps, part.carried);
    if (part === undefined || part.position === null) return;
  }
}

async function send({ db, queues, log }: CarryDeps, carried: readonly Carried[]): Promise<void> {
  const [first] = carried;
  if (first === undefined) return;
  const epoch = await readEpoch(db);
  const sendings = [...Map.groupBy(carried, ({ queueUrl }) => queueUrl)].map(([queueUrl, jobs]) => {
    const messages = jobs.map(({ id, claimNo }) => ({ id, body: encodeMessage({ epoch, jobId: id, claimNo }) }));
    return queues.send(queueUrl, messages);
  });
  const verdicts = (await Promise.all(sendings)).flat();
  const sent = verdicts.filter(({ kind }) => kind === 'sent').length;
  await confirmDispatch(db, first.claimNo, { sent, refused: verdicts.length - sent });
  const reason = verdicts.find(({ kind }) => kind !== 'sent')?.reason;
  log.warn('carriers_sent', { dispatch_id: first.claimNo, jobs: carried.length, sent, reason });
}

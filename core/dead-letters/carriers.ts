import { encodeMessage } from '../aws/message.ts';
import type { Queues } from '../aws/queues.ts';
import { carryMissing } from '../jobs/carry.ts';
import { confirmDispatch } from '../jobs/confirm.ts';
import type { Log } from '../log.ts';
import type { Database } from '../postgres/database.ts';
import { readEpoch } from '../postgres/epoch.ts';

interface CarryDeps {
  readonly db: Database;
  readonly queues: Pick<Queues, 'send'>;
  readonly log: Log;
}

const MOST = 1000;

/**
 * Sends a carrier for every dead job whose message is missing: the handler bounces it, and SQS moves it to the
 * dead-letter queue. A carrier that is lost too is replaced by a later run.
 */
export async function carry({ db, queues, log }: CarryDeps): Promise<void> {
  const carried = await carryMissing(db, MOST);
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

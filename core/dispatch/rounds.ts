import type { SendVerdict } from '../aws/queues.ts';
import { queueNameOf } from '../handler/naming.ts';
import { noteRounds } from '../jobs/note-rounds.ts';
import type { Database } from '../postgres/database.ts';

/** What a dispatcher did since it was noted last. */
export interface Tally {
  /** Length of each round that went well, seconds. */
  seconds: number[];
  failed: number;
  /** Messages sent, by the name of the queue. */
  sent: Map<string, number>;
  /** Jobs that were not sent, by reason. */
  errors: Map<string, number>;
}

export function openTally(): Tally {
  return { seconds: [], failed: 0, sent: new Map(), errors: new Map() };
}

export function tallySends({ sent, errors }: Tally, queueUrl: string, verdicts: readonly SendVerdict[]): void {
  for (const { kind } of verdicts) {
    if (kind === 'sent') add(sent, queueNameOf(queueUrl));
    else add(errors, kind);
  }
}

/** Writes it down and begins anew; what cannot be written is kept for the next time. */
export async function noteTally(db: Database, tally: Tally): Promise<void> {
  await noteRounds(db, tally);
  Object.assign(tally, openTally());
}

function add(counts: Map<string, number>, label: string): void {
  counts.set(label, (counts.get(label) ?? 0) + 1);
}

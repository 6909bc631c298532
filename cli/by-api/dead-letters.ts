import { DeadLetter, DeadLetterDetail } from '../../api/documents.ts';
import type { Engine, SeenDeadLetter } from '../engine.ts';
import type { Client } from './client.ts';
import { fromDocument, memberTexts } from './document.ts';
import { orRefusal } from './jobs.ts';
import { readPages } from './pages.ts';

export function deadLettersByApi(client: Client): Pick<Engine, 'showDeadLetter'> {
  return {
    showDeadLetter: async (wanted) => {
      if ('strayId' in wanted) {
        const found = await showDeadLetter(client, wanted.strayId);
        return found?.jobId === null ? found : undefined;
      }
      const ofJob = { path: '/admin/dlq', item: DeadLetter, query: { id: wanted.jobId } };
      const [listed] = await readPages(client, ofJob, 1);
      return listed && showDeadLetter(client, listed.dead_letter_id);
    },
  };
}

async function showDeadLetter(client: Client, id: string): Promise<SeenDeadLetter | undefined> {
  const answered = await orRefusal(client.ask(`/admin/dlq/${id}`, DeadLetterDetail), { 'not-found': undefined });
  if (answered === undefined) return undefined;
  const { dead_letter_id: own, payload, payload_restricted: restricted, raw_body, ...rest } = answered.document;
  const text = payload === null ? null : memberTexts(answered.text).get('payload');
  return { id: own, ...fromDocument(rest), payload: restricted ? undefined : text, rawBody: raw_body };
}

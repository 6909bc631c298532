import { Discarded, DiscardPreview } from '../../../api/documents/documents.ts';
import type { Discarded as Step } from '../../../core/dead-letters/discard.ts';
import type { PinnedFilter } from '../../../core/dead-letters/list-dead-letters.ts';
import type { Backend } from '../backend.ts';
import type { Client } from './client.ts';
import { filterBody } from './dead-letters.ts';
import { orRefusal } from './jobs.ts';

const PATH = '/admin/dlq/discard';

export function discardsByApi(client: Client) {
  return {
    countDeadLetters: async (filter) => {
      const asked = { method: 'POST', query: { dry_run: 'true' }, body: filterBody(filter) } as const;
      const { matched: count, until_id: untilId } = (await client.request(PATH, DiscardPreview, asked)).document;
      return { count, untilId };
    },
    discardDeadLetters: (filter, untilId) => discardDeadLetters(client, filter, untilId),
    discardStray: (id) => {
      const done = client.send(`/admin/dlq/${id}`, { method: 'DELETE' }).then(() => true);
      return orRefusal(done, { 'not-found': false });
    },
  } satisfies Partial<Backend>;
}

async function* discardDeadLetters(client: Client, filter: PinnedFilter, untilId: string): AsyncGenerator<Step> {
  for (let cursor: string | undefined; ; ) {
    const body = filterBody(filter, { until_id: untilId, cursor });
    const {
      discarded,
      left,
      next_cursor: next,
    } = (await client.request(PATH, Discarded, { method: 'POST', body })).document;
    if (next === null) return;
    yield { discarded, left };
    cursor = next;
  }
}

import { DeadLetter, DeadLetterDetail, Groups, ShownGroup } from '../../../api/documents/documents.ts';
import { MOST_FOUND } from '../../../core/dead-letters/find-group.ts';
import type { DeadLetterGroup } from '../../../core/dead-letters/group-dead-letters.ts';
import type { ListedDeadLetter, PinnedFilter } from '../../../core/dead-letters/list-dead-letters.ts';
import type { Backend, SeenDeadLetter } from '../backend.ts';
import type { Client } from './client.ts';
import { fromDocument, memberTexts } from './document.ts';
import { orRefusal } from './jobs.ts';
import { timeOf } from './numbers.ts';
import { readPages } from './pages.ts';

/** The most groups that the API returns. */
const MOST_GROUPS = 200;

export function deadLettersByApi(client: Client) {
  return {
    pinTimes: async ({ since, until, ...filter }) => ({
      ...filter,
      since: since === undefined ? since : await timeOf(client, since),
      until: until === undefined ? until : await timeOf(client, until),
    }),
    listDeadLetters: (filter, limit) => listDeadLetters(client, filter, limit),
    showDeadLetter: async (wanted) => {
      if ('strayId' in wanted) {
        const found = await showDeadLetter(client, wanted.strayId);
        return found?.jobId === null ? found : undefined;
      }
      const [listed] = await listDeadLetters(client, { jobIds: [wanted.jobId] }, 1);
      return listed && showDeadLetter(client, listed.id);
    },
    exportDeadLetters: (filter) => exportDeadLetters(client, filter),
    groupDeadLetters: (filter, limit) => groupDeadLetters(client, filter, limit),
    showGroup: async (fingerprint) => {
      const asked = client.request(`/admin/dlq/groups/${fingerprint}`, ShownGroup);
      const found = await orRefusal(asked, { 'not-found': undefined });
      return found && fromDocument(found.document);
    },
    findGroups: async (beginning) => {
      const groups = await groupDeadLetters(client, { group: beginning }, MOST_FOUND);
      return groups.flatMap(({ fingerprint }) => fingerprint ?? []);
    },
  } satisfies Partial<Backend>;
}

/** Returns the filter with the API's names for its parts. */
function filterDocument({ jobTypes, routingKey, jobIds, since, until, error, group }: PinnedFilter) {
  const some = (list: readonly string[] | undefined) => (list?.length ? list : undefined);
  return {
    ...{ job_type: some(jobTypes), routing_key: routingKey, id: some(jobIds) },
    ...{ since: since?.toISOString(), until: until?.toISOString(), error, group },
  };
}

/** Returns the filter as a request body, in which an empty filter requires an explicit `all`. */
export function filterBody(filter: PinnedFilter, more: object = {}): string {
  const parts = filterDocument(filter);
  const all = Object.values(parts).every((part) => part === undefined) || undefined;
  return JSON.stringify({ ...parts, all, ...more });
}

async function listDeadLetters(client: Client, filter: PinnedFilter, limit: number): Promise<ListedDeadLetter[]> {
  const list = { path: '/admin/dlq', item: DeadLetter, query: filterDocument(filter) };
  const found = await readPages(client, list, limit);
  const letters = found.map(({ dead_letter_id: id, ...rest }) => ({ id, ...fromDocument(rest) }));
  // The API sorts by id, which is nearly the same order.
  return letters.sort((one, other) => other.diedAt.getTime() - one.diedAt.getTime());
}

async function showDeadLetter(client: Client, id: string): Promise<SeenDeadLetter | undefined> {
  const answered = await orRefusal(client.request(`/admin/dlq/${id}`, DeadLetterDetail), { 'not-found': undefined });
  if (answered === undefined) return undefined;
  const { dead_letter_id: own, payload, payload_restricted: restricted, raw_body, ...more } = answered.document;
  const { payload_too_large: _isTooLarge, ...rest } = more;
  const text = payload === null ? null : memberTexts(answered.text).get('payload');
  return { id: own, ...fromDocument(rest), payload: restricted ? undefined : text, rawBody: raw_body };
}

/** Reads one after another, since a payload can be a megabyte; omits those that were resolved in the meantime. */
async function* exportDeadLetters(client: Client, filter: PinnedFilter): AsyncGenerator<SeenDeadLetter> {
  const list = { path: '/admin/dlq', item: DeadLetter, query: filterDocument(filter) };
  const listed = await readPages(client, list, Number.MAX_SAFE_INTEGER);
  for (const { dead_letter_id: id } of listed.toReversed()) {
    const letter = await showDeadLetter(client, id);
    if (letter !== undefined) yield letter;
  }
}

async function groupDeadLetters(client: Client, filter: PinnedFilter, limit: number): Promise<DeadLetterGroup[]> {
  const query = { ...filterDocument(filter), limit: Math.min(limit, MOST_GROUPS) };
  const { items, total, groups } = (await client.request('/admin/dlq/groups', Groups, { query })).document;
  return items.map((group) => ({ ...fromDocument(group), total, groups }));
}

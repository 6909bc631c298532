import type * as z from 'zod';
import { pageOf } from '../../../api/schemas.ts';
import type { Asked, Client } from './client.ts';

const LARGEST_PAGE = 200;

/** Reads pages until it has `most` items or the list ends. A short or empty page does not end the list. */
export async function readPages<Item extends z.ZodType>(
  client: Client,
  { path, item, query = {} }: { path: string; item: Item; query?: Asked['query'] },
  most: number,
): Promise<z.output<Item>[]> {
  const schema = pageOf(item);
  const items: z.output<Item>[] = [];
  let cursor: string | undefined;
  do {
    const limit = Math.min(most - items.length, LARGEST_PAGE);
    const { document } = await client.request(path, schema, { query: { ...query, limit, cursor } });
    items.push(...document.items);
    cursor = document.next_cursor ?? undefined;
  } while (cursor !== undefined && items.length < most);
  return items;
}

import { retry, Skip } from 'millrace';
import * as z from 'zod';
import { type Backend, connect, isUnavailable } from './backend.ts';

export interface SourceRecord {
  readonly id: string;
  readonly version: number;
  readonly title: string;
  readonly body: string;
}

export interface SearchIndex {
  readonly backend: Backend;
  /** Writes a record, unless a later version of it is in the index. */
  write(record: SourceRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

/** The payload of every key names the record: what it contains is read when the job runs. */
export const Payload = z.object({ record: z.string().regex(/^\d{1,18}$/, 'expected the id of a record') });

/** 5 s, 25 s, then 30 s: min(30, 5ⁿ). */
export const RETRY = retry.exponential({ base: '5s', factor: 5, max: '30s', jitter: 'none' });

const FIND = `select id, version, title, body from records where id = $1`;

/**
 * Brings one index up to date with a record.
 * @throws Skip if the backend of the index is down: another attempt in a minute would find it down, too
 */
export async function indexRecord(index: SearchIndex, id: string): Promise<{ process: number }> {
  const { rows } = await connect('records').query<SourceRecord>(FIND, [id]);
  const [record] = rows;
  try {
    await (record === undefined ? index.remove(id) : index.write(record));
  } catch (error) {
    if (isUnavailable(error)) throw new Skip(`the ${index.backend} index is unavailable`, { cause: error });
    throw error;
  }
  return { process: process.pid };
}

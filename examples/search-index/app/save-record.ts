import { enqueueAll } from 'millrace';
import type pg from 'pg';
import indexKeyword from '../jobs/index-record.keyword.ts';

const INSERT = `insert into records (title, body) values ($1, $2) returning id`;

export interface NewRecord {
  readonly title: string;
  readonly body: string;
}

/** Saves a record and enqueues a job for each index, in one transaction. Returns the ids. */
export async function saveRecord(pool: pg.Pool, { title, body }: NewRecord): Promise<{ id: string; jobs: string[] }> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query<{ id: string }>(INSERT, [title, body]);
    const id = rows[0]?.id ?? '';
    // One job for each deployed handler of index_record, in the order of their routing keys.
    const jobs = await enqueueAll(client, indexKeyword, { record: id });
    await client.query('commit');
    return { id, jobs: jobs.map((job) => job.id) };
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

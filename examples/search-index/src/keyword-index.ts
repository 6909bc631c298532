import { connect } from './backend.ts';
import type { SearchIndex } from './index-record.ts';

const WRITE = `
  insert into keyword_index as i (record_id, version, document)
    values ($1, $2, setweight(to_tsvector('english', $3), 'A') || to_tsvector('english', $4))
    on conflict (record_id) do update
      set version = excluded.version, document = excluded.document, writes = i.writes + 1
      where i.version <= excluded.version`;
const REMOVE = `delete from keyword_index where record_id = $1`;
const SEARCH = `
  select i.record_id as id, ts_rank(i.document, q) as score
    from keyword_index i, websearch_to_tsquery('english', $1) q
    where i.document @@ q order by score desc, id limit 10`;

export interface Hit {
  readonly id: string;
  /** Greater is better. */
  readonly score: number;
}

/** The full-text index of Postgres. */
export const keywordIndex = {
  backend: 'keyword',
  async write({ id, version, title, body }) {
    await connect('keyword').query(WRITE, [id, version, title, body]);
  },
  async remove(id) {
    await connect('keyword').query(REMOVE, [id]);
  },
} satisfies SearchIndex;

/** Returns the records that contain the words, in any form: `runs` finds `running`. */
export async function searchKeywords(words: string): Promise<Hit[]> {
  return (await connect('keyword').query<Hit>(SEARCH, [words])).rows;
}

import { connect } from './backend.ts';
import { embed } from './embed.ts';
import type { SearchIndex } from './index-record.ts';
import type { Hit } from './keyword-index.ts';

const WRITE = `
  insert into vector_index as i (record_id, version, embedding) values ($1, $2, $3)
    on conflict (record_id) do update
      set version = excluded.version, embedding = excluded.embedding, writes = i.writes + 1
      where i.version <= excluded.version`;
const REMOVE = `delete from vector_index where record_id = $1`;
const SEARCH = `
  select record_id as id, cosine(embedding, $1) as score from vector_index order by score desc, id limit 10`;

/** Vectors as plain arrays, which are searched by their cosine. */
export const vectorIndex = {
  backend: 'vector',
  async write({ id, version, title, body }) {
    await connect('vector').query(WRITE, [id, version, embed(`${title} ${body}`)]);
  },
  async remove(id) {
    await connect('vector').query(REMOVE, [id]);
  },
} satisfies SearchIndex;

/** Returns the records that are most similar to a text. */
export async function searchVectors(text: string): Promise<Hit[]> {
  return (await connect('vector').query<Hit>(SEARCH, [embed(text)])).rows;
}

import { createHash } from 'node:crypto';

const PLACES = 256;

/** Returns a vector of length 1 with a place for each term. Terms whose hashes are equal share a place. */
export function embed(text: string): number[] {
  const vector = new Array<number>(PLACES).fill(0);
  for (const term of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    const place = createHash('sha256').update(term).digest().readUInt16BE(0) % PLACES;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((weight) => weight / length);
}

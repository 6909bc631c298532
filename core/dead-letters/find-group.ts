import type { Queryable } from '../postgres/database.ts';

/** Characters of a fingerprint that tables print. */
export const SHOWN_GROUP = 8;
/** What every door accepts as a group: the beginning of a fingerprint, or a whole one. */
export const GROUP = /^[0-9a-f]{4,64}$/;
export const GROUP_EXPECTED = 'at least the first 4 characters of a fingerprint';
/** The most candidates that a fault names. */
const MOST_NAMED = 5;
/** One more than a fault names, so that it can say whether there are more. */
export const MOST_FOUND = MOST_NAMED + 1;

/** The group that a beginning selects, or why it selects none: no group or more than one begins with it. */
export type FoundGroup =
  | { readonly fingerprint: string }
  | { readonly fingerprint?: undefined; readonly ambiguous: boolean; readonly fault: string };

const FIND_GROUPS = `select fingerprint from millrace.find_groups($1) fingerprint order by fingerprint`;

/** Returns up to `MOST_FOUND` fingerprints of open dead letters that begin with the given characters. */
export async function findGroups(db: Queryable, beginning: string): Promise<string[]> {
  const { rows } = await db.query<{ fingerprint: string }>(FIND_GROUPS, [beginning]);
  return rows.map(({ fingerprint }) => fingerprint);
}

/** Chooses among the fingerprints that begin with the given characters. A whole fingerprint is never ambiguous. */
export function chooseGroup(beginning: string, found: readonly string[]): FoundGroup {
  const [first] = found;
  if (first === undefined) return { ambiguous: false, fault: `no group of dead letters begins with ${beginning}` };
  if (found.length === 1 || found.includes(beginning)) return { fingerprint: found.length === 1 ? first : beginning };
  const named = shortest(found).slice(0, MOST_NAMED).join(', ');
  const more = found.length > MOST_NAMED ? ' and more' : '';
  return { ambiguous: true, fault: `more than one group begins with ${beginning}: ${named}${more}` };
}

/** Returns the sorted fingerprints with as many characters as tell them apart, and no fewer than a table prints. */
function shortest(fingerprints: readonly string[]): string[] {
  const longest = Math.max(...fingerprints.map((one) => one.length));
  const lengths = Array.from({ length: longest }, (_, index) => index + 1);
  const isEnough = (length: number) =>
    length >= SHOWN_GROUP && new Set(fingerprints.map((one) => one.slice(0, length))).size === fingerprints.length;
  const length = lengths.find(isEnough) ?? longest;
  return fingerprints.map((one) => one.slice(0, length)).sort();
}

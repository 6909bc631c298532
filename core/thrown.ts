/**
 * Reads thrown values, which can be anything: getters and proxies of a thrown object may throw themselves, and a text
 * may be too long to be joined with another one.
 */

/** Returns undefined when `read` throws. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Returns the result of `instanceof`, or false when it throws, as it does for a revoked proxy. */
export function isInstance<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  return attempt(() => value instanceof type) ?? false;
}

/** Returns what `read` returns as text; an empty text if it returns nothing or throws. */
export function textOf(read: () => unknown): string {
  const value = attempt(read);
  return typeof value === 'string'
    ? value
    : value === undefined || value === null
      ? ''
      : (attempt(() => String(value)) ?? '');
}

/** Returns the field as text; an empty text if the value has none. */
export function fieldOf(value: unknown, field: 'name' | 'message' | 'code' | 'stack'): string {
  return textOf(() => (value as Partial<Record<string, unknown>> | null | undefined)?.[field]);
}

/**
 * Returns what an error holds: its first members, its cause, and for a SuppressedError the two errors of `using`. Each
 * is any value except undefined and null.
 */
export function heldBy(holder: unknown, mostMembers: number): { members: unknown[]; cause: unknown } {
  if (!isInstance(holder, Error)) return { members: [], cause: undefined };
  const read = (field: string) => attempt(() => (holder as unknown as Record<string, unknown>)[field]);
  const suppressed = fieldOf(holder, 'name') === 'SuppressedError' ? [read('error'), read('suppressed')] : [];
  const members = [...elementsOf(read('errors'), mostMembers), ...suppressed];
  return { members: members.filter((one) => one !== undefined && one !== null), cause: read('cause') ?? undefined };
}

/** Reads one element after the other: an array that calls its own code can still have readable ones. */
function elementsOf(list: unknown, most: number): unknown[] {
  const length = attempt(() => (Array.isArray(list) ? Math.min(list.length, most) : 0)) ?? 0;
  return Array.from({ length }, (_, index) => attempt(() => (list as unknown[])[index]));
}

/** The first `most` characters of texts that are joined, and how many characters they have in all. */
export interface Joined {
  readonly text: string;
  readonly length: number;
}

/** Cuts each text before it joins it, because two texts together can exceed what JavaScript allows for one. */
export function join(all: Joined, joint: string, text: string, most: number): Joined {
  const kept = (all.text + joint + text.slice(0, most)).slice(0, most);
  return { text: kept, length: all.length + joint.length + text.length };
}

/** Entries that SQS accepts in one call. */
export const BATCH = 10;
/** Concurrent calls. */
export const PARALLEL = 16;
/** Timeouts in milliseconds, without which the SDK waits indefinitely; longer than a long poll of a second. */
export const TIMEOUTS = { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true };

export function chunks<T>(items: readonly T[], size: number): T[][] {
  const list: T[][] = [];
  for (let from = 0; from < items.length; from += size) list.push(items.slice(from, from + size));
  return list;
}

/** Processes all items, `width` at once, and returns the results in their order. */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const lanes = Array.from({ length: Math.min(width, items.length) }, async () => {
    for (const [index, item] of entries) results[index] = await work(item);
  });
  await Promise.all(lanes);
  return results;
}

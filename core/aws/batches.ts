/** Entries that SQS takes in one call. */
export const BATCH = 10;
/** Calls under way at once. */
export const PARALLEL = 16;
/** Without them the SDK waits for ever. Longer than a long poll of a second. */
export const TIMEOUTS = { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true };

export function chunks<T>(items: readonly T[], size: number): T[][] {
  const list: T[][] = [];
  for (let from = 0; from < items.length; from += size) list.push(items.slice(from, from + size));
  return list;
}

/** Works on all items, `width` at once; answers in their order. */
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

/** Where a service of AWS is, when not where the environment says. */
export interface AwsAddress {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

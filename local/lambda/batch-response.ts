import { parseJson } from './parse-json.ts';

/**
 * Which messages of a batch must stay in the queue, by what the function returned (JSON text) with partial batch
 * responses switched on. As Lambda reads it: null, `{}`, and an empty, null or missing list mean that all succeeded.
 * Text that is not JSON, an item with another key, and an identifier that is null, empty or not of this batch fail the
 * whole batch.
 */
export function failedMessages(body: string, messageIds: readonly string[]): ReadonlySet<string> {
  const all = new Set(messageIds);
  const failures = readFailures(body);
  if (failures === undefined) return all;
  const failed = new Set<string>();
  for (const item of failures) {
    const id = isRecord(item) ? item.itemIdentifier : undefined;
    if (typeof id !== 'string' || !all.has(id)) return all;
    failed.add(id);
  }
  return failed;
}

/** The list of failures, or undefined if the answer cannot be read. */
function readFailures(body: string): unknown[] | undefined {
  const answer = parseJson(body);
  if (answer === null) return [];
  if (!isRecord(answer)) return undefined;
  const failures = answer.batchItemFailures ?? [];
  return Array.isArray(failures) ? failures : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

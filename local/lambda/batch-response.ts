import { parseJson } from './parse-json.ts';

/**
 * Returns the ids of the messages of a batch that must stay in the queue, by the function's response (JSON text) with
 * partial batch responses enabled. As in Lambda, null, `{}`, and an empty, null or missing list mean that all
 * succeeded. Text that is not JSON, an item with another key, and an identifier that is null, empty or not in the batch
 * fail the whole batch.
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

/** Returns the list of failures; undefined if the response is invalid. */
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

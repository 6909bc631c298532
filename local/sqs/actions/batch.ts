import { SqsError } from '../errors.ts';
import type { Input } from './input.ts';

const MOST_ENTRIES = 10;
const ENTRY_ID = /^[A-Za-z0-9_-]{1,80}$/;
const BAD_ID =
  'A batch entry id can only contain alphanumeric characters, hyphens and underscores. ' +
  'It can be at most 80 letters long.';

export interface BatchEntry {
  readonly id: string;
  readonly input: Input;
}

export interface BatchResult {
  Successful: object[];
  Failed?: { Id: string; Code: string; Message: string; SenderFault: boolean }[];
}

/** @throws SqsError for what makes the whole request fail: no entries, too many, bad or repeated ids */
export function readEntries(input: Input): BatchEntry[] {
  const given: unknown[] = Array.isArray(input.Entries) ? input.Entries : [];
  if (given.length === 0) throw new SqsError('EmptyBatchRequest', 'There should be at least one entry in the request.');
  if (given.length > MOST_ENTRIES) {
    const message = `Maximum number of entries per request are ${MOST_ENTRIES}. You have sent ${given.length}.`;
    throw new SqsError('TooManyEntriesInBatchRequest', message);
  }
  const seen = new Set<string>();
  return given.map((item) => readEntry((item ?? {}) as Input, seen));
}

function readEntry(input: Input, seen: Set<string>): BatchEntry {
  const id = input.Id;
  if (typeof id !== 'string' || !ENTRY_ID.test(id)) throw new SqsError('InvalidBatchEntryId', BAD_ID);
  if (seen.has(id)) throw new SqsError('BatchEntryIdsNotDistinct', `Id ${id} repeated.`);
  seen.add(id);
  return { id, input };
}

/** Runs every entry by itself; a refused one is reported and does not stop the others. */
export function runEntries<T extends BatchEntry>(entries: readonly T[], run: (entry: T) => object): BatchResult {
  const result: BatchResult = { Successful: [] };
  for (const entry of entries) {
    try {
      result.Successful.push({ Id: entry.id, ...run(entry) });
    } catch (error) {
      if (!(error instanceof SqsError)) throw error;
      result.Failed ??= [];
      const { queryCode, message, senderFault } = error;
      result.Failed.push({ Id: entry.id, Code: queryCode, Message: message, SenderFault: senderFault });
    }
  }
  return result;
}

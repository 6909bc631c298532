import type { RunContext } from 'millrace';
import * as z from 'zod';
import { database } from './database.ts';

/** The longest wait for the server, in milliseconds, unless the payload has another. */
const CLIENT_TIMEOUT_MS = 10_000;

export const order = z.object({ timeoutMs: z.int().min(1).max(60_000).default(CLIENT_TIMEOUT_MS) });

/**
 * The errors that another attempt can mend, by their codes and names. `TypeError` is not one of them: `fetch` throws
 * one for every failed connection, but so does a mistake in this code, such as a member of `undefined`. The filter
 * finds the code of the connection in the cause.
 */
export const TEMPORARY = [
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET'],
  ...['TimeoutError', 'ServerError'],
];

/** A response with a status from 500 on. */
class ServerError extends Error {
  override readonly name = 'ServerError';
}

interface Joke {
  readonly id: number;
  readonly joke: { readonly setup: string; readonly punchline: string };
}

/** A second attempt, or a second job, overwrites the row: the result is the same. */
const UPSERT = `
  insert into jokes (id, text) values ($1, $2)
    on conflict (id) do update set text = excluded.text, fetched_at = now()`;

/** Fetches a joke from the server of the setting `API_BASE_URL`, and stores it. */
export async function fetchJoke({
  payload,
  settings,
  signal,
}: RunContext<z.infer<typeof order>, 'API_BASE_URL'>): Promise<{ joke: number }> {
  const url = new URL('/joke', settings.API_BASE_URL);
  const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(payload.timeoutMs)]) });
  if (response.status >= 500) throw new ServerError(`${url} returned ${response.status}`);
  if (!response.ok) throw new Error(`${url} returned ${response.status}`);
  const { id, joke } = (await response.json()) as Joke;
  await database().query(UPSERT, [id, `${joke.setup} ${joke.punchline}`]);
  return { joke: id };
}

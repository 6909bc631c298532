import * as z from 'zod';

/** An event, and the web server that receives it. */
export const event = z.object({ url: z.url(), name: z.string(), data: z.json() });

/** Sends an event. Its id is the same in every attempt, so that the receiver can recognise a repetition. */
export async function postEvent(id: string, { url, name, data }: z.infer<typeof event>, signal: AbortSignal) {
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': id };
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ id, name, data }), headers, signal });
  if (!response.ok) throw new Error(`POST ${url} returned ${response.status}`);
  return { status: response.status };
}

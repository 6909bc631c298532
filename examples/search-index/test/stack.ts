import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

// Written by `npm run dev`, which must be running.
const { apiUrl, databaseUrl, sqsEndpoint, handlers } = JSON.parse(readFileSync('.millrace/dev.json', 'utf8'));

export const pool = new pg.Pool({ connectionString: databaseUrl });

/** Sends a request to the API, `POST /admin/jobs/7/retry` for example, and returns its body. */
// biome-ignore lint/suspicious/noExplicitAny: the tests compare its members.
export async function call(request: string): Promise<any> {
  const [method = '', path = ''] = request.split(' ');
  const response = await fetch(`${apiUrl}${path}`, { method });
  const text = await response.text();
  return text.startsWith('{') ? JSON.parse(text) : text;
}

/** Loses all messages in the queue of a routing key. */
export async function purgeQueue(routingKey: string): Promise<void> {
  const { queueUrl } = handlers.find((one: { routingKey: string }) => one.routingKey === routingKey);
  const headers = { 'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': 'AmazonSQS.PurgeQueue' };
  const response = await fetch(sqsEndpoint, { method: 'POST', headers, body: JSON.stringify({ QueueUrl: queueUrl }) });
  if (!response.ok) throw new Error(`PurgeQueue returned ${response.status}: ${await response.text()}`);
}

/** Repeats a check until it passes, for up to a minute. */
export async function eventually<T>(check: () => Promise<T>): Promise<T> {
  const end = Date.now() + 60_000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(100);
    }
  }
}

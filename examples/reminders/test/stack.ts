import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

// Written by `npm run dev`, which must be running.
const { apiUrl, databaseUrl } = JSON.parse(readFileSync('.millrace/dev.json', 'utf8'));

export const pool = new pg.Pool({ connectionString: databaseUrl });

/** Creates the first API key, which only an operator with a database login can do. */
export async function adminKey(): Promise<string> {
  const args = ['millrace', 'keys', 'create', 'admin', '--scope', 'admin', '--json'];
  const { stdout } = await promisify(execFile)('npx', args);
  return JSON.parse(stdout).secret;
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the tests compare its members.
  readonly body: any;
}

/** Sends a request, `POST /jobs` for example, with a key or without one. */
export async function call(key: string | undefined, request: string, body?: object): Promise<Answer> {
  const [method = '', path = ''] = request.split(' ');
  const headers = {
    ...(key !== undefined && { Authorization: `Bearer ${key}` }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${apiUrl}${path}`, init);
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
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

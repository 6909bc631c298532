import { createServer, type Server } from 'node:http';
import type pg from 'pg';
import { runReminders } from './run-reminders.ts';

/** Returns the server of `POST /reminders/run`, which cron calls every minute. It sends nothing itself. */
export function createApp(pool: pg.Pool): Server {
  return createServer(async ({ method, url }, response) => {
    try {
      if (method !== 'POST' || url !== '/reminders/run') response.writeHead(404).end();
      else response.end(`${JSON.stringify({ jobs: await runReminders(pool) })}\n`);
    } catch (error) {
      console.error(error);
      response.writeHead(500).end();
    }
  });
}

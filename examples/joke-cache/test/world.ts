import { readFileSync } from 'node:fs';
import { openTestDatabase } from 'millrace/testing';
import { startJokeServer } from '../app/joke-server.ts';
import linear from '../jobs/fetch-and-cache.linear.ts';
import scheduled from '../jobs/fetch-and-cache.scheduled.ts';
import exponential from '../jobs/fetch-and-cache.ts';
import sweepStalled from '../jobs/sweep-stalled.ts';
import { closeDatabase } from '../src/database.ts';

/** Opens a database with the handlers and the tables of this project, and a server with jokes. */
export async function openWorld() {
  const server = await startJokeServer(0);
  const handlers = [exponential, linear, scheduled, sweepStalled];
  /** What `.env` sets; a test may change it. */
  const settings = { API_BASE_URL: server.url };
  const database = await openTestDatabase({ handlers, settings, now: '2027-01-31T00:00:30Z' });
  await database.query(readFileSync('schema.sql', 'utf8'));
  process.env.DATABASE_URL = database.connectionString;
  return {
    server,
    database,
    handlers,
    settings,
    /** For a test that starts without jobs and without jokes, on a server that answers. */
    async reset() {
      settings.API_BASE_URL = server.url;
      server.mood = 'joke';
      await database.clear();
      await database.query('truncate jokes');
    },
    async close() {
      await closeDatabase();
      await database.close();
      server.close();
    },
  };
}

import { inject, onTestFinished } from 'vitest';
import type { OpenOptions, TestDatabase } from '../../local/testing/test-database.ts';
import { openTestDatabase } from '../../local/testing/testing.ts';
import './postgres-server.ts';

/** Opens a database of `millrace/testing` on the server of the run, and closes it at the end of the test. */
export async function openOnServer(options: OpenOptions = {}): Promise<TestDatabase> {
  const database = await openTestDatabase({ serverUrl: inject('postgres').url, ...options });
  onTestFinished(() => database.close());
  return database;
}

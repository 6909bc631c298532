import { PostgreSqlContainer } from '@testcontainers/postgresql';
import type { TestProject } from 'vitest/node';
import setupServer from '../support/postgres-server.ts';

// As for the embedded server: no data has to survive a power cut.
const SETTINGS = ['max_connections=300', 'fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

/** Starts a server with testcontainers for the same suite. `MILLRACE_TEST_IMAGE` names another image. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const container = await new PostgreSqlContainer(process.env.MILLRACE_TEST_IMAGE ?? 'postgres:18')
    .withCommand(['postgres', ...SETTINGS.flatMap((setting) => ['-c', setting])])
    .start();
  process.env.MILLRACE_TEST_DATABASE_URL = container.getConnectionUri();
  const stopServer = await setupServer(project).catch(async (error: unknown) => {
    await container.stop();
    throw error;
  });
  return async () => {
    await stopServer();
    await container.stop();
  };
}

/** The public interface `millrace/testing`: tests run handlers, and jobs in a database of their own. */
import { refuseOldNode } from './refuse-old-node.ts';
import type { OpenOptions, TestDatabase } from './test-database.ts';

export {
  assertEnqueued,
  assertNotEnqueued,
  enqueued,
  type MillraceMatchers,
  millraceMatchers,
} from '../../core/testing/assert-enqueued.ts';
export type { LoggedLine } from '../../core/testing/captured-log.ts';
export type { DrainedRun, DrainOptions } from '../../core/testing/drained-run.ts';
export type { EnqueuedJob } from '../../core/testing/enqueued.ts';
export type { ExpectedOptions } from '../../core/testing/expected-job.ts';
export type { HandlerRun, RunOutcome } from '../../core/testing/handler-run.ts';
export { type ReportedRun, type RunHandlerOptions, runHandler } from '../../core/testing/run-handler.ts';
export type { OpenOptions, TestClient, TestDatabase } from './test-database.ts';

/**
 * Opens a database for a test file: empty, migrated, with a clock that stands still, and with these handlers deployed.
 * Its server is the one of `serverUrl` or MILLRACE_TEST_DATABASE_URL, or else a Postgres of the package `millrace-dev`,
 * which all tests of this account share.
 * @throws Error that names the package and the command when it is not installed, or the required release of Node
 */
export async function openTestDatabase(options: OpenOptions = {}): Promise<TestDatabase> {
  refuseOldNode(process.versions.node);
  // A test without a database loads no server.
  const opener = await import('./open-test-database.ts');
  return opener.openTestDatabase(options);
}

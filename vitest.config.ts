import { defineConfig } from 'vitest/config';
import { Progress } from './test/support/progress.ts';
import { projectsOf, WORKERS } from './test/support/projects.ts';

/** `npm test`. Tests that run long or wait are *.story.ts, for `npm run stories`. */
export default defineConfig({
  test: {
    projects: projectsOf('test/**/*.test.ts'),
    globalSetup: ['test/support/postgres-server.ts', 'test/support/cli-bundle.ts'],
    reporters: [new Progress(), 'minimal'],
    maxWorkers: WORKERS,
    // At least ten times the longest duration: a limit stops a test that never ends, not one on a busy machine.
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});

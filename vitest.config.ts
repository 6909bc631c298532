import { defineConfig } from 'vitest/config';
import { Progress } from './test/support/progress.ts';
import { projectsOf, WORKERS } from './test/support/projects.ts';

/** `npm test`. What takes long or waits is called *.story.ts: `npm run stories`. */
export default defineConfig({
  test: {
    projects: projectsOf('test/**/*.test.ts'),
    globalSetup: ['test/support/postgres-server.ts', 'test/support/cli-bundle.ts'],
    reporters: [new Progress(), 'minimal'],
    maxWorkers: WORKERS,
    // Ten times what the longest need, and more: a limit is for what never ends, not for a machine that is busy.
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});

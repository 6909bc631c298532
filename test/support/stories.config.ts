import { defineConfig } from 'vitest/config';
import suite from '../../vitest.config.ts';
import { projectsOf, WORKERS } from './projects.ts';

/** `npm run stories`: long tests and tests that wait for clocks. Most of them wait, so more of them run in parallel. */
export default defineConfig({
  ...suite,
  test: {
    ...suite.test,
    projects: projectsOf('test/**/*.story.ts'),
    maxWorkers: 2 * WORKERS,
    testTimeout: 600_000,
    hookTimeout: 300_000,
  },
});

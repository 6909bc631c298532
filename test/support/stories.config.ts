import { defineConfig } from 'vitest/config';
import suite from '../../vitest.config.ts';
import { projectsOf, WORKERS } from './projects.ts';

/** `npm run stories`: what runs for long or waits for clocks, in *.story.ts. Most of it waits, so more runs at once. */
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

import { defineConfig } from 'vitest/config';
import suite from '../../vitest.config.ts';
import { DATABASE_PROJECTS, projectsOf } from '../support/projects.ts';

/** The database suite on a container instead of the embedded server: `npm run containers`. */
export default defineConfig({
  ...suite,
  test: {
    ...suite.test,
    projects: projectsOf('test/{core,migrations}/**/*.test.ts', DATABASE_PROJECTS),
    globalSetup: ['test/containers/server.ts'],
  },
});

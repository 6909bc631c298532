import { defineConfig } from 'vitest/config';
import suite from '../../vitest.config.ts';

/** The database suite on a container instead of the server that the tests bring along: `npm run containers`. */
export default defineConfig({
  ...suite,
  test: {
    ...suite.test,
    include: ['test/core/**/*.test.ts', 'test/migrations/**/*.test.ts'],
    globalSetup: ['test/support/containers.ts'],
  },
});

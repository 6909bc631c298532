import { defineConfig } from 'vitest/config';

/** One project from `npm install` to a deployment, in order; `.ci/package.sh` installs what it requires. */
export default defineConfig({
  test: {
    include: ['test/adoption/**/*.test.ts'],
    fileParallelism: false,
    // Later steps depend on the failed one and would only time out.
    bail: 1,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});

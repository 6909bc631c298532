import { defineConfig } from 'vitest/config';

/** One deployment from `bootstrap` to `destroy`, in order; `.ci/rehearse.sh` installs what it requires. */
export default defineConfig({
  test: {
    include: ['test/rehearsal/**/*.test.ts'],
    fileParallelism: false,
    // Later steps depend on the failed one and would only time out.
    bail: 1,
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});

import { defineConfig } from 'vitest/config';

/** Deployments from `bootstrap` to `destroy`, in order; `.ci/rehearse.sh` installs what they require. */
export default defineConfig({
  test: {
    include: ['test/rehearsal/**/*.test.ts'],
    fileParallelism: false,
    // Later steps depend on the failed one and would only time out.
    bail: 1,
    testTimeout: 1_000_000,
    hookTimeout: 120_000,
  },
});

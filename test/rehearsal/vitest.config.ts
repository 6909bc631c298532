import { defineConfig } from 'vitest/config';

/** One deployment from `bootstrap` to `destroy`, told in order; `.ci/rehearse.sh` installs what it needs. */
export default defineConfig({
  test: {
    include: ['test/rehearsal/**/*.test.ts'],
    fileParallelism: false,
    // What comes after a failed step would only wait for what never comes.
    bail: 1,
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});

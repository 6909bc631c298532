import { defineConfig } from 'vitest/config';

/** Whole stacks that are killed again and again: minutes each, one after another. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts'],
    globalSetup: ['test/support/postgres-server.ts'],
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
});

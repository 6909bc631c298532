import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Minutes each, one after another: npm run faults.
    exclude: ['test/faults/**'],
    globalSetup: ['test/support/postgres-server.ts'],
    // One more than vitest takes on two cores: much of the time is waiting for processes and leases.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});

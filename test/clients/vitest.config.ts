import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Clients of other libraries and languages, which `.ci/clients.sh` installs. */
export default defineConfig({
  resolve: { alias: { millrace: resolve(import.meta.dirname, '../../core/index.ts') } },
  test: {
    include: ['test/clients/**/*.test.ts'],
    globalSetup: ['test/support/postgres-server.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});

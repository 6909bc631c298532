import { defineConfig } from 'vitest/config';

/** `.ci/moto-template.sh` installs what these tests require. */
export default defineConfig({
  test: { include: ['test/moto/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 120_000 },
});

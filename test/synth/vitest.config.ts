import { defineConfig } from 'vitest/config';

/** Full synths of clones, in Linux namespaces; for CI. */
export default defineConfig({
  test: { include: ['test/synth/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 300_000 },
});

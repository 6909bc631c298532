import { defineConfig } from 'vitest/config';

/** Whole synths of clones, in namespaces of Linux: for CI. */
export default defineConfig({
  test: { include: ['test/synth/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 300_000 },
});

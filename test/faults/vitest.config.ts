import { defineConfig } from 'vitest/config';

const MEASURED = 'test/faults/api-scale.test.ts';

/** Tests that repeatedly kill whole stacks. Each takes minutes, mostly waiting. The one that measures runs alone. */
export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'measured', include: [MEASURED], sequence: { groupOrder: 0 } } },
      {
        extends: true,
        test: {
          name: 'killed',
          include: ['test/faults/**/*.test.ts'],
          exclude: [MEASURED],
          sequence: { groupOrder: 1 },
        },
      },
    ],
    globalSetup: ['test/support/postgres-server.ts'],
    maxWorkers: 4,
    testTimeout: 600_000,
    hookTimeout: 180_000,
  },
});

import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const MEASURED = 'test/faults/api-scale.test.ts';

/** Starts the longest files first: the run then ends when the last of them does. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      /kill-sqs/.test(moduleId) ? 0 : /stopping|outage/.test(moduleId) ? 1 : 2;
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

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
    sequence: { sequencer: LongestFirst },
    maxWorkers: 4,
    testTimeout: 600_000,
    hookTimeout: 180_000,
  },
});

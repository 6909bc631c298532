import { defineConfig } from 'vitest/config';
import { SqsTable } from './sqs-table.ts';

/** Runs the contract of SQS against our emulator and against every server that a setting names. */
export default defineConfig({
  test: {
    include: ['test/contract/*.test.ts', 'test/local/sqs/contract.story.ts'],
    reporters: ['default', new SqsTable()],
    testTimeout: 30_000,
    maxWorkers: 2,
  },
});

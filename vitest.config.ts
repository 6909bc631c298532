import { defineConfig } from 'vitest/config';

// A minute each by the clock: .ci/sqs-servers.sh. The emulator's own tests state the same with a clock of their own.
const ONLY_IN_CI = ['test/contract/sqs-minute.test.ts'];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Minutes each, one after another: npm run faults, npm run rehearse, .ci/moto-template.sh.
    exclude: ['test/faults/**', 'test/rehearsal/**', 'test/moto/**', 'test/synth/**', ...ONLY_IN_CI],
    globalSetup: ['test/support/postgres-server.ts', 'test/support/cli-bundle.ts'],
    // One more than vitest takes on two cores: much of the time is waiting for processes and leases.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});

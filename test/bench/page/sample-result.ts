import type { Result } from '../../../bench/result.ts';

const cost = (seconds: number, cpuMs = 100) => ({ seconds, cpuMs, nodeMs: 50, walBytes: 1_000_000, commits: 10 });
const run = (system: 'millrace' | 'pg-boss' | 'graphile-worker', batch: number, seconds: number) => {
  return { system, batch, lanes: 4, jobs: 1000, enqueue: cost(1), drain: cost(seconds, 100 * seconds), deadTuples: 5 };
};

/** A result in which Millrace is twice as fast as pg-boss, with invented numbers. */
export const SAMPLE: Result = {
  ...{ format: 1, date: '2026-12-01', commit: 'abc1234', command: 'npm run bench --', jobs: 1000, runs: 1 },
  pinned: false,
  machine: {
    ...{ processors: '2 x CPU', memoryGb: 8, system: 'Linux 6', node: '24.21.0', postgres: '18.4' },
    ...{ settings: 'shared_buffers=512MB', load: [0.5, 1.5] },
  },
  throughput: [run('millrace', 10, 1), run('millrace', 100, 1), run('pg-boss', 10, 2), run('pg-boss', 100, 2)],
  singles: [1, 32].flatMap((connections) =>
    (['millrace', 'pg-boss'] as const).map((system) => ({ system, connections, jobs: 200, cost: cost(0.5) })),
  ),
  latency: [1, 100].map((rate) => ({
    ...{ name: 'millrace, stack, loop', rate, seconds: 10, jobs: 10 * rate, unstarted: 0 },
    ...{ p50: 510, p95: 900, p99: 2400 },
  })),
  failing: [0, 0.2].map((share) => ({ ...run('millrace', 100, 1 + share), share })),
  payloads: [100, 200_000].map((bytes) => ({ ...run('millrace', 100, 3), bytes })),
  phases: [{ batch: 10, phase: 'claim', jobs: 1000, cost: cost(0.2) }],
  loadMs: 61.5,
  testDatabase: { firstSeconds: 2.5, medianSeconds: 0.123 },
  stack: { upSeconds: 4.2, drains: [{ handler: 'no_op', jobsPerSecond: 500, again: 0, requestsPerJob: 0.31 }] },
};

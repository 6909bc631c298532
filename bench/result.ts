import * as z from 'zod';
import { UsageError } from './usage-error.ts';

/** Bump it when a page cannot be made from the files of older versions. */
const FORMAT = 1;

const cost = z.object({
  seconds: z.number(),
  walBytes: z.number(),
  commits: z.number(),
  cpuMs: z.number(),
  nodeMs: z.number(),
});
const system = z.enum(['millrace', 'pg-boss', 'graphile-worker', 'floor']);
const contender = z.object({ system, batch: z.number().optional(), lanes: z.number() });
/** All jobs of a contender: from the first insert to the last, and from the first claim to the last outcome. */
const run = contender.extend({ jobs: z.number(), enqueue: cost, drain: cost, deadTuples: z.number() });
const phase = z.object({ batch: z.number(), phase: z.string(), jobs: z.number(), cost });
const single = z.object({ system, connections: z.number(), jobs: z.number(), cost });
const milliseconds = z.number().nonnegative();
const latency = z.object({
  /** The name that the tables show, such as `pg-boss, polling`. */
  name: z.string(),
  rate: z.number(),
  seconds: z.number(),
  jobs: z.number(),
  /** Jobs that did not start within a minute after the last one was enqueued. */
  unstarted: z.number(),
  ...{ p50: milliseconds, p95: milliseconds, p99: milliseconds },
});
const testDatabase = z.object({ firstSeconds: z.number(), medianSeconds: z.number() });
const stack = z.object({
  upSeconds: z.number(),
  drains: z.array(
    z.object({ handler: z.string(), jobsPerSecond: z.number(), again: z.number(), requestsPerJob: z.number() }),
  ),
});

const result = z.object({
  format: z.literal(FORMAT),
  date: z.string(),
  commit: z.string(),
  command: z.string(),
  machine: z.object({
    processors: z.string(),
    memoryGb: z.number(),
    system: z.string(),
    node: z.string(),
    /** Version of the server. */
    postgres: z.string(),
    settings: z.string(),
    /** Load averages of the last minute, at the beginning and at the end. */
    load: z.array(z.number()),
  }),
  jobs: z.number(),
  runs: z.number(),
  pinned: z.boolean(),
  /** Each question that was measured. */
  throughput: z.array(run).optional(),
  phases: z.array(phase).optional(),
  singles: z.array(single).optional(),
  latency: z.array(latency).optional(),
  failing: z.array(run.extend({ share: z.number() })).optional(),
  payloads: z.array(run.extend({ bytes: z.number() })).optional(),
  loadMs: z.number().optional(),
  testDatabase: testDatabase.optional(),
  stack: stack.optional(),
});

/** The result of one run of the benchmark, as `--json` writes it. */
export type Result = z.infer<typeof result>;
export type RunRow = z.infer<typeof run>;
export type PhaseRow = z.infer<typeof phase>;
export type SingleRow = z.infer<typeof single>;
export type LatencyRow = z.infer<typeof latency>;
export type FailingRow = RunRow & { readonly share: number };
export type PayloadRow = RunRow & { readonly bytes: number };
export type TestDatabaseResult = z.infer<typeof testDatabase>;
export type StackResult = z.infer<typeof stack>;
/** What the questions add to a result. */
export type Answers = Partial<
  Omit<Result, 'format' | 'date' | 'commit' | 'command' | 'machine' | 'jobs' | 'runs' | 'pinned'>
>;

/** @throws UsageError that names the file and its fault. */
export function parseResult(file: string, text: string): Result {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${file}: expected the JSON that npm run bench -- --json writes`, { cause });
  }
  const parsed = result.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new UsageError(
    `${file}: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}; write it with --json again`,
  );
}

export const RESULT_FORMAT = FORMAT;

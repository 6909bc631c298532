/** A function as it is deployed to the runner. */
export interface FunctionSpec {
  name: string;
  /** Absolute path of the built `.mjs`. */
  bundle: string;
  timeoutSeconds: number;
  memoryMb: number;
  environment: Readonly<Record<string, string>>;
  /** Number of retries of a failed asynchronous invocation, 0 to 2; default 0. */
  eventRetries?: number;
  /** Most concurrent invocations; more are throttled. PutFunctionConcurrency changes it. Default: no limit. */
  reservedConcurrency?: number;
}

/** An event source mapping from an SQS queue to a function. */
export interface MappingSpec {
  functionName: string;
  queueUrl: string;
  queueArn: string;
  /** 1 to 10, or up to 10,000 with a window. */
  batchSize: number;
  windowSeconds: number;
  maximumConcurrency: number;
  /** Default true. */
  enabled?: boolean;
}

/** An invocation in progress that received messages of jobs. */
export interface RunningJobs {
  readonly functionName: string;
  readonly requestId: string;
  readonly jobIds: readonly string[];
  /** When the runner kills its process, in milliseconds since 1970. */
  readonly deadlineMs: number;
}

/** A log line of a function, or a failure that the runner observed. */
export interface RunnerEvent {
  kind: 'log' | 'init-failed' | 'timeout' | 'exit' | 'out-of-memory' | 'poll-error' | 'poll-recovered';
  functionName: string;
  /** A one-line description; for a `log`, the line that the function wrote. */
  message: string;
  requestId?: string;
  /** Ids of the jobs whose messages the invocation received, when it did not end by itself. */
  jobIds?: readonly string[];
  /** The lines that Lambda writes to the function's log for the end of a process. */
  lines?: readonly string[];
  stream?: 'stdout' | 'stderr';
}

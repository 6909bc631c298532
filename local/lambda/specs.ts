export interface FunctionSpec {
  name: string;
  /** Absolute path of the built `.mjs`. */
  bundle: string;
  timeoutSeconds: number;
  memoryMb: number;
  environment: Readonly<Record<string, string>>;
  /** How often a failed asynchronous invocation is tried again, 0 to 2; default 0. */
  eventRetries?: number;
  /** At most so many invocations at a time, further ones are throttled; until it is changed. Default: no limit. */
  reservedConcurrency?: number;
}

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

export interface RunnerEvent {
  kind: 'log' | 'init-failed' | 'timeout' | 'exit' | 'out-of-memory' | 'poll-error' | 'poll-recovered';
  functionName: string;
  /** One line for people; of a `log`, the line that the function wrote. */
  message: string;
  requestId?: string;
  stream?: 'stdout' | 'stderr';
}

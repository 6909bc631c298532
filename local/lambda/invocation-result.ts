import { parseJson } from './parse-json.ts';
import type { FunctionSpec, RunnerEvent } from './specs.ts';

/** The result of an invocation. `body` is the JSON text that the function sent. */
export type InvocationResult =
  | { kind: 'success'; body: string }
  /** The function reported an error; its environment stays. */
  | { kind: 'error'; error: FunctionError }
  /** The function was not run: its reserved concurrency is in use. */
  | { kind: 'throttled'; error: FunctionError }
  /** The environment ended with the invocation. */
  | { kind: 'init-failed' | 'timeout' | 'exit' | 'out-of-memory'; error: FunctionError };

/** The payload that Lambda returns for a failed invocation. */
export interface FunctionError {
  errorType: string;
  errorMessage: string;
  trace?: string[];
}

export function timedOut(requestId: string, seconds: number): FunctionError {
  return {
    errorType: 'Sandbox.Timedout',
    errorMessage: `RequestId: ${requestId} Error: Task timed out after ${seconds.toFixed(2)} seconds`,
  };
}

export function outOfMemory(requestId: string): FunctionError {
  return {
    errorType: 'Runtime.OutOfMemory',
    errorMessage: `RequestId: ${requestId} Error: Runtime exited with error: signal: killed`,
  };
}

/** The names that Lambda logs. */
const SIGNALS: Partial<Record<NodeJS.Signals, string>> = {
  SIGKILL: 'killed',
  SIGABRT: 'aborted',
  SIGSEGV: 'segmentation fault',
  SIGBUS: 'bus error',
  SIGTERM: 'terminated',
};

export function exited(requestId: string, exit: { code: number | null; signal: NodeJS.Signals | null }): FunctionError {
  const how =
    exit.signal !== null
      ? ` with error: signal: ${SIGNALS[exit.signal] ?? exit.signal}`
      : exit.code === 0
        ? ' without providing a reason'
        : ` with error: exit status ${exit.code}`;
  return { errorType: 'Runtime.ExitError', errorMessage: `RequestId: ${requestId} Error: Runtime exited${how}` };
}

export function throttled(): InvocationResult {
  return { kind: 'throttled', error: { errorType: 'TooManyRequestsException', errorMessage: 'Rate Exceeded.' } };
}

type End = Pick<RunnerEvent, 'kind'> & { readonly requestId: string; readonly errorMessage: string };

/** Returns the lines that Lambda writes to the log of a function when the process of an invocation ends. */
export function endLines(
  { kind, requestId, errorMessage }: End,
  { timeoutSeconds, memoryMb }: FunctionSpec,
): readonly string[] {
  switch (kind) {
    case 'timeout':
      return [`${new Date().toISOString()} ${requestId} Task timed out after ${timeoutSeconds.toFixed(2)} seconds`];
    case 'exit':
      return [`${errorMessage}\nRuntime.ExitError`];
    case 'out-of-memory': {
      const memory = `Memory Size: ${memoryMb} MB\tMax Memory Used: ${memoryMb} MB`;
      const report = `REPORT RequestId: ${requestId}\t${memory}\tStatus: error\tError Type: Runtime.OutOfMemory`;
      return [`${errorMessage}\nRuntime.ExitError`, report];
    }
    default:
      return [];
  }
}

/** Parses the error that a runtime posted; any text results in an error. */
export function parseError(body: string): FunctionError {
  const posted = parseJson(body);
  if (typeof posted !== 'object' || posted === null) return { errorType: 'Runtime.Unknown', errorMessage: body };
  const { errorType, errorMessage, trace, stackTrace } = posted as Record<string, unknown>;
  const lines = [trace, stackTrace].find(Array.isArray);
  return {
    errorType: typeof errorType === 'string' ? errorType : 'Error',
    errorMessage: typeof errorMessage === 'string' ? errorMessage : '',
    ...(lines && { trace: lines.map(String) }),
  };
}

/** Describes an error in one line: its message, and the first position in the stack outside Node and the runtime. */
export function summarize({ errorType, errorMessage, trace = [] }: FunctionError): string {
  const place = trace.find((line) => /^\s*at .*:\d+:\d+\)?$/.test(line) && !/node:|\/bootstrap\.mjs:/.test(line));
  const where = place?.match(/\(?((?:file:\/\/)?\/[^()]+:\d+):\d+\)?$/)?.[1]?.replace('file://', '');
  return `${errorType}: ${errorMessage}${where ? ` (${where})` : ''}`;
}

/**
 * Returns the payload of an Invoke response (always JSON text) and the value of its X-Amz-Function-Error. Throws
 * `TooManyRequestsException` for a throttled invocation.
 */
export function toAnswer(result: InvocationResult): { payload: string; functionError?: string } {
  if (result.kind === 'throttled') {
    throw new ServiceError(429, 'TooManyRequestsException', result.error.errorMessage);
  }
  if (result.kind !== 'success') return { payload: JSON.stringify(result.error), functionError: 'Unhandled' };
  if (parseJson(result.body) !== undefined) return { payload: result.body };
  const error = { errorType: 'Runtime.InvalidResponse', errorMessage: 'the response is not JSON' };
  return { payload: JSON.stringify(error), functionError: 'Unhandled' };
}

/** An error response of the Lambda API. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: string;
  readonly status: number;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

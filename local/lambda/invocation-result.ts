import { parseJson } from './parse-json.ts';

/** How an invocation ended. `body` is JSON text as the function sent it. */
export type InvocationResult =
  | { kind: 'success'; body: string }
  /** The function reported an error and lives on. */
  | { kind: 'error'; error: FunctionError }
  /** It was not run: as many as are reserved for the function run already. */
  | { kind: 'throttled'; error: FunctionError }
  /** The environment ended with it. */
  | { kind: 'init-failed' | 'timeout' | 'exit' | 'out-of-memory'; error: FunctionError };

/** The payload that Lambda gives for a failed invocation. */
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

export function exited(requestId: string, exit: { code: number | null; signal: NodeJS.Signals | null }): FunctionError {
  const how =
    exit.signal !== null
      ? ` with error: signal: ${exit.signal === 'SIGKILL' ? 'killed' : exit.signal}`
      : exit.code === 0
        ? ' without providing a reason'
        : ` with error: exit status ${exit.code}`;
  return { errorType: 'Runtime.ExitError', errorMessage: `RequestId: ${requestId} Error: Runtime exited${how}` };
}

export function throttled(): InvocationResult {
  return { kind: 'throttled', error: { errorType: 'TooManyRequestsException', errorMessage: 'Rate Exceeded.' } };
}

/** Reads the error that a runtime posted; whatever it is, it becomes one. */
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

/** One line for people: the message, and the first place of the stack that is neither Node's nor the runtime's. */
export function summarize({ errorType, errorMessage, trace = [] }: FunctionError): string {
  const place = trace.find((line) => /^\s*at .*:\d+:\d+\)?$/.test(line) && !/node:|\/bootstrap\.mjs:/.test(line));
  const where = place?.match(/\(?((?:file:\/\/)?\/[^()]+:\d+):\d+\)?$/)?.[1]?.replace('file://', '');
  return `${errorType}: ${errorMessage}${where ? ` (${where})` : ''}`;
}

/**
 * The payload of an Invoke answer (always JSON text), and the value of its X-Amz-Function-Error.
 * Throws `TooManyRequestsException` for what was not run.
 */
export function toAnswer(outcome: InvocationResult): { payload: string; functionError?: string } {
  if (outcome.kind === 'throttled') {
    throw new ServiceError(429, 'TooManyRequestsException', outcome.error.errorMessage);
  }
  if (outcome.kind !== 'success') return { payload: JSON.stringify(outcome.error), functionError: 'Unhandled' };
  if (parseJson(outcome.body) !== undefined) return { payload: outcome.body };
  const error = { errorType: 'Runtime.InvalidResponse', errorMessage: 'the response is not JSON' };
  return { payload: JSON.stringify(error), functionError: 'Unhandled' };
}

/** An error of the Lambda service, as its clients read it. */
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

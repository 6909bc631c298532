import { optionalSetting } from './config.ts';
import { describeFailure, isInstance, type StoredError } from './failure.ts';
import type { LogEvent } from './log-table.ts';

/** One JSON object per line, which CloudWatch stores and a person can grep. Handlers log events of their own. */
export interface Log<Event extends string = LogEvent> {
  info(event: Event, fields?: LogFields): void;
  warn(event: Event, fields?: LogFields): void;
  error(event: Event, fields?: LogFields): void;
  /** The same log with these fields on every line. */
  child(fields: LogFields): Log<Event>;
}

export type LogFields = Readonly<Record<string, unknown>>;
type Level = 'info' | 'warn' | 'error';

export const SERVICE = 'millrace';
/** CloudWatch cuts an event at 256 kB; a line stays far below it. */
const LONGEST_FIELD = 8_000;
const LONGEST_MESSAGE = 1_000;
const LONGEST_STACK = 4_000;

/** `read` gives fields that change from line to line. */
export function openLog(write: (line: string) => void, bound: LogFields = {}, read?: () => LogFields): Log {
  const line = (level: Level) => (event: string, fields?: LogFields) => {
    // Of the clock of this process: a line is no row.
    const timestamp = new Date().toISOString();
    const message = event.replaceAll('_', ' ');
    write(
      JSON.stringify({ level, timestamp, service: SERVICE, event, message, ...read?.(), ...bound, ...fields }, plain),
    );
  };
  return {
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (fields) => openLog(write, { ...bound, ...fields }, read),
  };
}

let invocation: LogFields = {};
let cold = true;

/** The log of a process: one line to standard output. */
export const processLog: Log = openLog(
  (line) => process.stdout.write(`${line}\n`),
  {},
  () => invocation,
);

/** What Lambda tells of an invocation. */
export interface LambdaContext {
  readonly functionName: string;
  readonly awsRequestId: string;
}

/** Has every line of `processLog` name this invocation, by Powertools' keys: a function serves one at a time. */
export function nameInvocation(context: LambdaContext): void {
  const trace = /Root=([^;]+)/.exec(optionalSetting('_X_AMZN_TRACE_ID') ?? '')?.[1];
  invocation = {
    function_name: context.functionName,
    function_request_id: context.awsRequestId,
    cold_start: cold,
    ...(trace !== undefined && { xray_trace_id: trace }),
  };
  cold = false;
}

/** An error as the field `error` has it; the table of attempts has all of it. */
export function errorField({ name, message, stack }: StoredError): LogFields {
  return {
    name,
    message: cut(message, LONGEST_MESSAGE),
    ...(stack !== null && { stack: cut(stack, LONGEST_STACK) }),
  };
}

/** Errors become objects: a query asks for `error.name`. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (isInstance(value, Error)) {
    return errorField(describeFailure(value));
  }
  return typeof value === 'string' ? cut(value, LONGEST_FIELD) : value;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`;
}

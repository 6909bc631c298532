import { inspect } from 'node:util';
import { optionalSetting } from './config.ts';
import { describeFailure, type StoredError } from './failure.ts';
import { LOG_FIELDS, type LogEvent } from './log-table.ts';
import { startOf } from './text.ts';
import { isInstance } from './thrown.ts';

/** A log with one JSON object per line. Handlers log their own events. */
export interface Log<Event extends string = LogEvent> {
  info(event: Event, fields?: LogFields): void;
  warn(event: Event, fields?: LogFields): void;
  error(event: Event, fields?: LogFields): void;
  /** Returns the same log with these fields on every line. */
  child(fields: LogFields): Log<Event>;
}

export type LogFields = Readonly<Record<string, unknown>>;
type Level = 'info' | 'warn' | 'error';

export const SERVICE = 'millrace';
/** CloudWatch cuts an event at 256 kB; these limits keep a line far below that. */
const LONGEST_FIELD = 8_000;
const LONGEST_MESSAGE = 1_000;
const LONGEST_STACK = 4_000;

/** Fields that the engine sets on a line of a handler. */
export const RESERVED_FIELDS: ReadonlySet<string> = new Set([
  ...['level', 'timestamp', 'service', 'event', 'function_name', 'function_request_id', 'cold_start', 'xray_trace_id'],
  ...['job_type', 'routing_key', 'queue', 'job_id', 'attempt', 'attempt_number', 'max_attempts'],
]);

/** Fields of Millrace, which log queries and metric filters read: their names and numbers are not secret. */
const ENGINE_FIELDS: ReadonlySet<string> = new Set(Object.keys(LOG_FIELDS));

/** What a log does besides writing its fields. */
interface LogOptions {
  /** Returns fields that change from line to line. */
  readonly read?: () => LogFields;
  /** Returns a text of a field as it may be written. */
  readonly redact?: Redact;
}

type Redact = (text: string) => string;

/** Opens a log whose lines all have the fields `bound`. */
export function openLog(write: (line: string) => void, bound: LogFields = {}, options: LogOptions = {}): Log {
  const { read, redact = asItIs } = options;
  const line = (level: Level) => (event: string, fields?: LogFields) => {
    // The clock of the process is sufficient for a log line; only rows require the database's clock.
    const timestamp = new Date().toISOString();
    const message = event.replaceAll('_', ' ');
    const line = { level, timestamp, service: SERVICE, event, message, ...read?.(), ...bound, ...fields };
    write(lineOf(line, redact));
  };
  return {
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (fields) => openLog(write, { ...bound, ...fields }, options),
  };
}

const asItIs: Redact = (text) => text;

/** Returns one line of JSON. A value that JSON cannot show, such as a circular one, is shown as `inspect` shows it. */
function lineOf(fields: LogFields, redact: Redact): string {
  const replacer = plainWith(redact);
  try {
    return JSON.stringify(fields, replacer);
  } catch {
    const pairs = Object.entries(fields).map(([name, value]) => [name, shown(value, replacer)]);
    return JSON.stringify(Object.fromEntries(pairs), replacer);
  }
}

function shown(value: unknown, replacer: ReturnType<typeof plainWith>): unknown {
  try {
    return JSON.parse(JSON.stringify(value, replacer) ?? 'null');
  } catch {
    return inspected(value);
  }
}

/** Returns a value as text, whatever its own code does. */
export function inspected(value: unknown): string {
  try {
    return cut(inspect(value, { breakLength: Number.POSITIVE_INFINITY }), LONGEST_FIELD);
  } catch {
    return '(unreadable)';
  }
}

let invocation: LogFields = {};
let cold = true;

/** Opens a log of this process, on standard output. */
export function openProcessLog(redact: Redact): Log {
  return openLog((line) => process.stdout.write(`${line}\n`), {}, { read: () => invocation, redact });
}

/** The log of this process without redaction. */
export const processLog: Log = openProcessLog(asItIs);

/** The part of Lambda's context that the log uses. */
export interface LambdaContext {
  readonly functionName: string;
  readonly awsRequestId: string;
}

/** Adds this invocation to every line of `processLog`, under Powertools' keys: a function serves one at a time. */
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

/** Largest number of job ids in one event: an outage can affect a thousand jobs. */
const MOST_JOB_IDS = 100;

/** Returns the fields of an event about several jobs. */
export function jobsFields(ids: readonly string[]): LogFields {
  return { jobs: ids.length, job_ids: ids.slice(0, MOST_JOB_IDS).join(' ') };
}

/** Returns the value of the field `error`; the table of attempts stores the whole error. */
export function errorField({ name, message, stack }: StoredError): LogFields {
  return {
    name,
    message: cut(message, LONGEST_MESSAGE),
    ...(stack !== null && { stack: cut(stack, LONGEST_STACK) }),
  };
}

/** Converts errors to objects, so that a log query can select `error.name`, and shows what JSON would omit. */
function plainWith(redact: Redact): (key: string, value: unknown) => unknown {
  return (key, value) => {
    if (typeof value === 'bigint' || typeof value === 'symbol') return redact(value.toString());
    if (typeof value === 'function') return redact(inspected(value));
    if (isInstance(value, Set)) return [...value];
    if (isInstance(value, Map)) {
      const entries = [...value];
      const isObject = entries.every(([name]) => typeof name === 'string');
      return isObject ? withoutSecrets(Object.fromEntries(entries), redact) : entries;
    }
    if (isInstance(value, Error)) {
      return errorField(describeFailure(value));
    }
    if (typeof value === 'string') return cut(redact(value), LONGEST_FIELD);
    if (redact === asItIs || (typeof value === 'number' && ENGINE_FIELDS.has(key))) return value;
    return withoutSecrets(value, redact);
  };
}

/** Returns a value without secrets in the names of its members, or, if it is a number, in its digits. */
function withoutSecrets(value: unknown, redact: Redact): unknown {
  if (typeof value === 'number') return redact(String(value)) === String(value) ? value : redact(String(value));
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return value;
  const shown = (name: string) => (ENGINE_FIELDS.has(name) ? name : redact(name));
  if (Object.keys(value).every((name) => shown(name) === name)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [shown(name), member]));
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${startOf(text, most)}… (${text.length} characters)`;
}

import { messageOf } from '../failure.ts';
import { inspected, type Log, type LogFields, RESERVED_FIELDS } from '../log.ts';
import { startOf } from '../text.ts';

const LONGEST_EVENT = 200;

/**
 * Returns the log that a handler receives. Whatever the handler passes, a line keeps its event, its job and its
 * attempt, and logging never fails the job: a reserved field moves into `fields`, an error becomes `error`, and any
 * other value becomes `value`.
 */
export function openHandlerLog(log: Log): Log<string> {
  const line = (level: 'info' | 'warn' | 'error') => (event: unknown, fields?: unknown) =>
    log[level](eventOf(event) as never, ownFields(fields));
  return {
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (fields) => openHandlerLog(log.child(ownFields(fields))),
  };
}

function eventOf(event: unknown): string {
  return typeof event === 'string' ? event : startOf(inspected(event), LONGEST_EVENT);
}

/** Reads each field by itself: a getter of the handler's object can throw. */
function readEntries(given: object): [string, unknown][] {
  if (given instanceof Map || given instanceof Set) return [['value', given]];
  try {
    return Object.keys(given).map((name) => [name, readField(given, name)]);
  } catch (error) {
    return [['value', `(unreadable: ${messageOf(error)})`]];
  }
}

function readField(given: object, name: string): unknown {
  try {
    return (given as Record<string, unknown>)[name];
  } catch (error) {
    return `(unreadable: ${messageOf(error)})`;
  }
}

function ownFields(given: unknown): LogFields {
  if (given === undefined) return {};
  if (given instanceof Error) return { error: given };
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return { value: given };
  const entries = readEntries(given);
  // An application can run its handlers on Node 20, which has no Object.groupBy.
  const own = entries.filter(([name]) => !RESERVED_FIELDS.has(name));
  const reserved = entries.filter(([name]) => RESERVED_FIELDS.has(name));
  return { ...Object.fromEntries(own), ...(reserved.length > 0 && { fields: Object.fromEntries(reserved) }) };
}

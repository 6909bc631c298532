import { inspect } from 'node:util';
import { type Log, type LogFields, RESERVED_FIELDS } from '../log.ts';

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
  return typeof event === 'string' ? event : inspect(event, { depth: 1 }).slice(0, LONGEST_EVENT);
}

function ownFields(given: unknown): LogFields {
  if (given === undefined) return {};
  if (given instanceof Error) return { error: given };
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return { value: given };
  const { own = [], reserved = [] } = Object.groupBy(Object.entries(given), ([name]) =>
    RESERVED_FIELDS.has(name) ? 'reserved' : 'own',
  );
  return { ...Object.fromEntries(own), ...(reserved.length > 0 && { fields: Object.fromEntries(reserved) }) };
}

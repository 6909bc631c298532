import { LOG_EVENTS, LOG_FIELDS } from '../../core/log-table.ts';
import { CLOUDWATCH_METRICS } from '../../core/numbers/metric-table.ts';

const EVERY_LINE = ['level', 'timestamp', 'service', 'event', 'message'];
const EVENTS: Readonly<Record<string, readonly string[]>> = LOG_EVENTS;
const FIELDS: Readonly<Record<string, { readonly type: string }>> = LOG_FIELDS;

/** Returns the differences of a line from the tables of fields and events. */
export function faultsOf(line: Readonly<Record<string, unknown>>): string[] {
  const wanted = EVENTS[String(line.event)];
  if (wanted === undefined) return [`${line.event} is an unknown event`];
  const missing = [...EVERY_LINE, ...wanted].filter((name) => line[name] === undefined);
  const wrong = Object.entries(line).filter(([name, value]) => !isKnown(name, value));
  return [
    ...missing.map((name) => `${name} is missing`),
    ...wrong.map(([name, value]) => `${name} is ${value === null ? 'null' : typeof value}`),
    ...(line.error === undefined ? [] : faultsOfError(line.error)),
  ];
}

function isKnown(name: string, value: unknown): boolean {
  // Another test compares the parts of a metric document.
  if (name === '_aws' || name in CLOUDWATCH_METRICS) return true;
  return value !== null && typeof value === FIELDS[name]?.type;
}

function faultsOfError(error: unknown): string[] {
  const { name, message, stack = '' } = error as Record<string, unknown>;
  return [name, message, stack].every((part) => typeof part === 'string') ? [] : ['error has no name or message'];
}

/** One JSON object a line: what CloudWatch stores and what a person can grep. */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** The same log with these fields on every line. */
  child(fields: LogFields): Log;
}

export type LogFields = Readonly<Record<string, unknown>>;
type Level = 'info' | 'warn' | 'error';

/** CloudWatch cuts an event at 256 kB; a line stays far below it. */
const LONGEST_FIELD = 8_000;

export function openLog(write: (line: string) => void, bound: LogFields = {}): Log {
  const line = (level: Level) => (event: string, fields?: LogFields) =>
    write(JSON.stringify({ level, event, ...bound, ...fields }, cut));
  return {
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (fields) => openLog(write, { ...bound, ...fields }),
  };
}

/** The log of a process: one line to standard output. */
export const processLog: Log = openLog((line) => process.stdout.write(`${line}\n`));

function cut(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Error) return `${value.name}: ${value.message}`.slice(0, LONGEST_FIELD);
  if (typeof value !== 'string' || value.length <= LONGEST_FIELD) return value;
  return `${value.slice(0, LONGEST_FIELD)}… (${value.length} characters)`;
}

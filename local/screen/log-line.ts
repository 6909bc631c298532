/** A log line of a function, as core/log.ts writes it. */
export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Parses a line that a function printed; undefined if it is not a log line of core/log.ts. */
export function parseLogLine(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const { level, event } = value as Partial<LogLine>;
    return typeof event === 'string' && typeof level === 'string' ? (value as LogLine) : undefined;
  } catch {
    return undefined;
  }
}

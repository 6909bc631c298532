/** A log line of a function: what core/log.ts wrote. */
export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly [field: string]: unknown;
}

/** The log line in what a function printed, or undefined when it is somebody's plain text. */
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

import { type Log, openLog } from '../log.ts';

/** A line that a handler logged: its level, its event, and the fields that the handler passed. */
export interface LoggedLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Fields that the engine adds to each line, which are the same or different in every run. */
const OF_ENGINE = ['timestamp', 'service', 'job_id', 'attempt', 'attempt_number', 'max_attempts'];

/** Opens a log that keeps its lines, with the conversions of every log: values become those of the line's JSON. */
export function captureLog(): { readonly log: Log; readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const log = openLog((text) => {
    const line = JSON.parse(text) as LoggedLine & { message?: unknown };
    const isOwn = (name: string) => !OF_ENGINE.includes(name) && !(name === 'message' && isDerived(line));
    lines.push(Object.fromEntries(Object.entries(line).filter(([name]) => isOwn(name))) as LoggedLine);
  });
  return { log, lines };
}

/** The log writes the event as a message, unless the handler passed one. */
function isDerived({ event, message }: LoggedLine & { message?: unknown }): boolean {
  return message === event.replaceAll('_', ' ');
}

import { oneLine } from '../../core/text.ts';
import type { LogLine } from './log-line.ts';

const LONGEST_REASON = 300;

/** Describes what the mirror found in one dead-letter queue; undefined if the queue is empty. */
export function mirroredSentence(log: LogLine): string | undefined {
  const holds = list(log, { dead: 'dead letter', stray: 'stray', left: 'undecided message' });
  const changes = [
    log.moved_on !== undefined && `${log.moved_on} deleted: their jobs are no longer dead`,
    log.released !== undefined && `${log.released} released: their jobs never ran`,
  ].filter((part) => typeof part === 'string');
  const parts = [...(holds === '' ? [] : [`holds ${holds}`]), ...changes];
  return parts.length === 0 ? undefined : parts.join('; ');
}

/** Returns the error of a line without its stack, such as `Error: no`; empty for a line without an error. */
export function errorText({ error }: LogLine): string {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  // The errors of Postgres have the name `error`, which is not specific.
  if (name === 'error') return String(message);
  return name === undefined ? String(error ?? '') : `${name}: ${message}`;
}

/** Describes the other log events of the mirror; undefined for any other event. */
export function mirrorSentence(log: LogLine): string | undefined {
  const error = oneLine(errorText(log), LONGEST_REASON);
  switch (log.event) {
    case 'mirror_not_covered':
      return `saw ${log.seen} of ${log.depth} messages; the others wait for a later run`;
    case 'dead_letter_queue_missing':
      return `the queue is missing: ${log.reason}`;
    case 'carriers_sent':
      return `claim ${log.dispatch_id}: ${log.sent} of ${count(log.jobs, 'missing message')} of dead jobs sent again${because(log)}`;
    case 'mirror_failed':
      return `cannot be read: ${error}`;
    case 'move_tasks_unknown':
      return `cannot list its move tasks: ${error}`;
    case 'make_visible_failed':
      return `the messages that were read stay hidden for a minute: ${error}`;
    default:
      return undefined;
  }
}

function list(log: LogLine, names: Readonly<Record<string, string>>): string {
  return Object.entries(names)
    .filter(([field]) => log[field] !== undefined)
    .map(([field, name]) => count(log[field], name))
    .join(', ');
}

/** Returns a count such as `1 job` or `2 jobs`. */
export function count(number: unknown, name: string): string {
  return `${number} ${name}${number === 1 ? '' : 's'}`;
}

function because({ reason }: LogLine): string {
  return reason === undefined ? '' : `: ${oneLine(String(reason), LONGEST_REASON)}`;
}

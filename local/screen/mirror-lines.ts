import { oneLine } from '../../core/text.ts';
import type { LogLine } from './log-line.ts';

const LONGEST_REASON = 300;

/** What the mirror found in one dead-letter queue, for people; undefined when the queue is empty. */
export function mirroredSentence(log: LogLine): string | undefined {
  const holds = list(log, { dead: 'dead letter', stray: 'stray', left: 'undecided message' });
  const changes = [
    log.moved_on !== undefined && `${log.moved_on} removed whose jobs have moved on`,
    log.released !== undefined && `${log.released} never ran: due again`,
  ].filter((part) => typeof part === 'string');
  const parts = [...(holds === '' ? [] : [`holds ${holds}`]), ...changes];
  return parts.length === 0 ? undefined : parts.join('; ');
}

/** `Error: no`: the error of a line, which has its stack as well. */
export function errorText({ error }: LogLine): string {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  return name === undefined ? String(error) : `${name}: ${message}`;
}

/** What else the mirror has to say. */
export function mirrorSentence(log: LogLine): string | undefined {
  const error = oneLine(errorText(log), LONGEST_REASON);
  switch (log.event) {
    case 'mirror_not_covered':
      return `saw ${log.seen} of ${log.depth} messages; the others have to wait for another look`;
    case 'dead_letter_queue_missing':
      return `the queue is missing: ${log.reason}`;
    case 'carriers_sent':
      return `claim ${log.dispatch_id}: ${log.sent} of ${count(log.jobs, 'missing message')} of dead jobs sent anew${because(log)}`;
    case 'mirror_failed':
      return `cannot be looked into: ${error}`;
    case 'move_tasks_unknown':
      return `does not tell its move tasks: ${error}`;
    case 'make_visible_failed':
      return `what was looked at stays hidden for a minute: ${error}`;
    default:
      return undefined;
  }
}

function list(log: LogLine, names: Readonly<Record<string, string>>): string {
  return Object.entries(names)
    .filter(([verdict]) => log[verdict] !== undefined)
    .map(([verdict, name]) => count(log[verdict], name))
    .join(', ');
}

function count(number: unknown, name: string): string {
  return `${number} ${name}${number === 1 ? '' : 's'}`;
}

function because({ reason }: LogLine): string {
  return reason === undefined ? '' : `: ${oneLine(String(reason), LONGEST_REASON)}`;
}

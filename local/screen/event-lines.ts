import { roughly } from '../../core/duration.ts';
import { oneLine } from '../../core/text.ts';
import type { RunnerEvent } from '../lambda/specs.ts';
import { engineSentence } from './engine-lines.ts';
import { type LogLine, parseLogLine } from './log-line.ts';
import { errorText, mirroredSentence, mirrorSentence } from './mirror-lines.ts';
import type { Part } from './writers.ts';

/** Longest text of an error or of a printed line; `jobs show` prints the whole error. */
const LONGEST_TEXT = 300;
/** Longest line, which includes such a text. */
const LONGEST_LINE = 400;
const QUIET = new Set(['pruned', 'migration_applied', 'metrics']);
/** SQLSTATE with which the server ends an idle session; the message may be in any language. */
const IDLE_SESSION_TIMEOUT = '57P05';
const COLOURS = { info: 'green', warn: 'yellow', error: 'red' } as const;

/** Describes an event of the stack in one line; undefined for an event that is not shown. */
export function eventLine(event: RunnerEvent, now: Date): readonly Part[] | undefined {
  if (event.kind !== 'log') return line(now, short(event.functionName), runnerSentence(event), 'error');
  const log = parseLogLine(event.message);
  if (log === undefined) return plainLine(event, now);
  if (QUIET.has(log.event) || isStart(log) || isBounce(log) || isIdleEnd(log)) return undefined;
  const text = log.event === 'mirrored' ? mirroredSentence(log) : sentence(log);
  return text === undefined ? undefined : line(now, subject(log) ?? short(event.functionName), text, log.level);
}

/** Endings of a process that its function does not log itself, so only the runner knows what was lost. */
const DEATHS: readonly RunnerEvent['kind'][] = ['exit', 'timeout', 'out-of-memory'];
const MOST_IDS = 10;

function runnerSentence({ kind, message, requestId, jobIds = [] }: RunnerEvent): string {
  const text = shortened(message);
  if (!DEATHS.includes(kind) || requestId === undefined) return text;
  const more = jobIds.length > MOST_IDS ? ` and ${jobIds.length - MOST_IDS} more` : '';
  const jobs = `job${jobIds.length === 1 ? '' : 's'} ${jobIds.slice(0, MOST_IDS).join(', ')}${more}`;
  return `${text}  (${[...(jobIds.length === 0 ? [] : [jobs]), `request ${requestId}`].join('; ')})`;
}

/** Describes a line that a function printed; an error that ended an invocation is shown as its type and message. */
function plainLine({ functionName, message }: RunnerEvent, now: Date): readonly Part[] | undefined {
  const [title, report = ''] = message.split('\t');
  // The runner reports the same error with its source position.
  if (title === 'Init Error') return undefined;
  const { errorType, errorMessage } = title === 'Invoke Error' ? parseReport(report) : {};
  if (errorType === undefined) return line(now, short(functionName), shortened(message), 'info');
  return line(now, short(functionName), shortened(`${errorType}: ${errorMessage}`), 'error');
}

function parseReport(text: string): { errorType?: unknown; errorMessage?: unknown } {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** A dead job's message is received a few more times before SQS moves it; the death of the job was shown before. */
function isBounce({ event, step }: LogLine): boolean {
  return event === 'message_not_started' && step === 'bounce';
}

/** A job is shown when its attempt ends. A handler can log an event of this name too, but knows no SQS message. */
function isStart(log: LogLine): boolean {
  return log.event === 'job_started' && 'sqs_message_id' in log;
}

/** The database ends the sessions of idle functions, and the next job opens another: nothing is wrong. */
function isIdleEnd(log: LogLine): boolean {
  return log.event === 'database_connection_lost' && log.sqlstate === IDLE_SESSION_TIMEOUT;
}

function line(now: Date, who: string, text: string, level: LogLine['level']): readonly Part[] {
  // UTC, as in every table.
  const time = `${now.toISOString().slice(11, 19)}Z`;
  const [shownWho, shown] = [oneLine(who, LONGEST_LINE), oneLine(text, LONGEST_LINE)];
  return [{ style: 'dim', text: time }, `  ${shownWho.padEnd(24)}  `, { style: COLOURS[level], text: shown }];
}

/** Returns a line about a function, which is not one of its events. */
export function functionLine(functionName: string, text: string, now: Date): readonly Part[] {
  return line(now, short(functionName), text, 'info');
}

function shortened(text: string): string {
  return oneLine(text, LONGEST_TEXT);
}

function subject({ job_id, job_type, routing_key, queue }: LogLine): string | undefined {
  const type = [job_type, routing_key].filter((part) => typeof part === 'string').join('.') || 'job';
  if (typeof job_id === 'string') return `${type} ${job_id}`;
  return typeof queue === 'string' ? short(queue) : undefined;
}

function sentence(log: LogLine): string {
  const attempt = `attempt ${log.attempt}`;
  const error = shortened(errorText(log));
  switch (log.event) {
    case 'dispatched':
      return `claim ${log.dispatch_id}: ${log.sent} of ${log.claimed} jobs sent`;
    case 'job_succeeded':
      return `succeeded    ${attempt}  ${log.duration_ms} ms`;
    case 'job_failed':
      return `failed       ${attempt}  ${error}  (retry in ${delayOf(log)})`;
    case 'job_dead_letter':
      return `dead letter  ${attempt}  ${error}${showHint(log)}`;
    case 'attempt_rescued':
      return `lost         ${attempt}  ${log.reason}  (request ${log.attempt_request_id})`;
    case 'job_snoozed':
      return `snoozed      ${error}  (retry in ${delayOf(log)})`;
    case 'job_skipped':
      return `skipped      ${attempt}  ${error}`.trimEnd();
    case 'job_cancelled':
      return `cancelled    ${attempt}  ${error}`.trimEnd();
    case 'database_connection_lost':
      return `lost an idle database connection; the next job opens another: ${error}`;
    case 'http':
      return `${log.method} ${log.path} answered ${log.http_status}  ${log.duration_ms} ms`;
    default:
      return engineSentence(log) ?? mirrorSentence(log) ?? otherSentence(log);
  }
}

/** Suggests a command for an id of digits only: a handler can print any text, and a reader may copy the command. */
function showHint({ job_id }: LogLine): string {
  return typeof job_id === 'string' && /^\d{1,19}$/.test(job_id) ? `  (npx millrace jobs show ${job_id})` : '';
}

function delayOf({ retry_delay_s: delay }: LogLine): string {
  return typeof delay === 'number' ? roughly(delay) : 'a while';
}

/** Describes an event that a handler logs, or an event that has no sentence. */
function otherSentence(log: LogLine): string {
  const { attempt, ...fields } = log;
  const name = log.event.replaceAll('_', ' ');
  // A handler can log a field of that name itself.
  if (attempt !== `${log.attempt_number}/${log.max_attempts}`) return [name, ...details(log)].join('  ');
  return [name, `attempt ${attempt}`, ...details(fields as LogLine)].join('  ');
}

/** Fields shown elsewhere on the line, fields about the machine, and copies for queries. */
const OMITTED = new Set([
  ...['level', 'timestamp', 'service', 'event', 'message', 'job_id', 'job_type', 'routing_key', 'queue'],
  ...['attempt_number', 'max_attempts', 'error_fingerprint'],
  ...['function_name', 'function_request_id', 'cold_start', 'xray_trace_id'],
]);

function details(log: LogLine): string[] {
  return Object.entries(log)
    .filter(([key]) => !OMITTED.has(key))
    .map(([key, value]) => `${key}=${key === 'error' ? errorText(log) : text(value)}`);
}

function text(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Shortens `millrace-local-send_reminder`, the name of a function or queue, to `send_reminder`. */
function short(functionName: string): string {
  return functionName.replace(/^millrace-local-/, '');
}

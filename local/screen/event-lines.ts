import { styleText } from 'node:util';
import { oneLine } from '../../core/text.ts';
import type { RunnerEvent } from '../lambda/specs.ts';
import { type LogLine, parseLogLine } from './log-line.ts';
import { errorText, mirroredSentence, mirrorSentence } from './mirror-lines.ts';

/** Of an error, or of what a function printed; `jobs show` has the rest of an error. */
const LONGEST_TEXT = 300;
/** With what stands around such a text. */
const LONGEST_LINE = 400;
const QUIET = new Set(['pruned', 'migration_applied', 'metrics']);
const COLOURS = { info: 'green', warn: 'yellow', error: 'red' } as const;

/** One line for people of one event of the stack, or undefined for what nobody needs to see. */
export function eventLine(event: RunnerEvent, now: Date): string | undefined {
  if (event.kind !== 'log') return line(now, short(event.functionName), shortened(event.message), 'error');
  const log = parseLogLine(event.message);
  if (log === undefined) return plainLine(event, now);
  if (QUIET.has(log.event) || isBounce(log)) return undefined;
  const text = log.event === 'mirrored' ? mirroredSentence(log) : sentence(log);
  return text && line(now, subject(log) ?? short(event.functionName), text, log.level);
}

/** What a function printed by itself; of an error that ended an invocation or a start, its type and message. */
function plainLine({ functionName, message }: RunnerEvent, now: Date): string | undefined {
  const [title, report = ''] = message.split('\t');
  // The runner tells it once more, with the place.
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

/** A dead job's message comes a few times before SQS takes it to the dead-letter queue; its death was told. */
function isBounce({ event, step }: LogLine): boolean {
  return event === 'message_not_started' && step === 'bounce';
}

function line(now: Date, who: string, text: string, level: LogLine['level']): string {
  const time = now.toTimeString().slice(0, 8);
  const [shownWho, shown] = [oneLine(who, LONGEST_LINE), oneLine(text, LONGEST_LINE)];
  return `${styleText('dim', time)}  ${shownWho.padEnd(24)}  ${styleText(COLOURS[level], shown)}`;
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
      return `failed       ${attempt}  ${error}  (again in ${roughly(log.retry_delay_s)})`;
    case 'job_dead_letter':
      return `dead letter  ${attempt}  ${error}  (npx millrace jobs show ${log.job_id})`;
    case 'attempt_rescued':
      return `lost         ${attempt}  its lease is over`;
    case 'job_snoozed':
      return `snoozed      ${error}  (again in ${roughly(log.retry_delay_s)})`;
    case 'http':
      return `${log.method} ${log.path} answered ${log.http_status}  ${log.duration_ms} ms`;
    case 'message_not_started':
      return log.step === 'redrive' ? 'redriven, by a move task of SQS' : `message not started: ${log.step}`;
    default:
      return mirrorSentence(log) ?? [log.event.replaceAll('_', ' '), ...details(log)].join('  ');
  }
}

function roughly(seconds: unknown): string {
  return typeof seconds === 'number' ? `${Number(seconds.toPrecision(3))} s` : 'a while';
}

/** Said elsewhere on the line, or of the machine and not of what happened. */
const TOLD = new Set([
  ...['level', 'timestamp', 'service', 'event', 'message', 'job_id', 'job_type', 'routing_key', 'queue'],
  ...['function_name', 'function_request_id', 'cold_start', 'xray_trace_id'],
]);

function details(log: LogLine): string[] {
  return Object.entries(log)
    .filter(([key]) => !TOLD.has(key))
    .map(([key, value]) => `${key}=${key === 'error' ? errorText(log) : text(value)}`);
}

function text(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** `millrace-local-send_reminder`, a function or a queue, is called `send_reminder` here. */
function short(functionName: string): string {
  return functionName.replace(/^millrace-local-/, '');
}

import { SettingError } from '../errors.ts';
import type { PayloadInput } from '../handler/definition.ts';
import type { HandlerDefinition } from '../handler/handler.ts';
import { handlerName } from '../handler/naming.ts';
import type { PayloadSchema } from '../handler/payload.ts';
import { checkKeys } from '../handler/policy-fields.ts';
import type { EnqueuedJob } from './enqueued.ts';

/** A handler's definition, or a job type with any routing key. */
export type ExpectedHandler<Schema extends PayloadSchema> = HandlerDefinition<Schema> | string;

/** A part of a value: members that are missing are not compared. Arrays are compared whole. */
export type Part<Value> = Value extends Date | readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Name in keyof Value]?: Part<Value[Name]> }
    : Value;

/** A part of a payload, as the producer passes it. */
export type PayloadPart<Schema extends PayloadSchema> = Part<PayloadInput<Schema>>;

/** Further properties that a job must have. */
export type ExpectedOptions = Partial<
  Pick<EnqueuedJob, 'runAt' | 'startBy' | 'priority' | 'maxAttempts' | 'uniqueKey' | 'groupKey' | 'status'>
>;

const OPTIONS = ['runAt', 'startBy', 'priority', 'maxAttempts', 'uniqueKey', 'groupKey', 'status'];

/** What a job is compared with. */
export interface Expected {
  readonly jobType: string;
  /** Undefined for any. */
  readonly routingKey: string | undefined;
  /** Undefined for any. */
  readonly payload: unknown;
  readonly options: ExpectedOptions;
}

/** @throws SettingError when `handler` is neither a definition nor a job type, or an option is unknown. */
export function expectedJob(handler: unknown, payload?: unknown, options: ExpectedOptions = {}): Expected {
  checkKeys('options', options, OPTIONS);
  checkTimes(options);
  if (typeof handler === 'string') return { jobType: handler, routingKey: undefined, payload, options };
  const { jobType, routingKey } = (handler ?? {}) as Partial<HandlerDefinition>;
  if (typeof jobType === 'string') return { jobType, routingKey, payload, options };
  throw new SettingError('handler', 'the definition that defineHandler returns, or a job type', handler);
}

/** Rejects what `enqueue` accepts in place of a time: no job would ever match it. */
function checkTimes(options: Readonly<Record<string, unknown>>): void {
  for (const name of ['runAt', 'startBy']) {
    const value = options[name];
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    throw new SettingError(name, 'the Date that the job has (enqueue converts a duration)', value);
  }
}

export function isExpected(job: EnqueuedJob, { jobType, routingKey, payload, options }: Expected): boolean {
  if (job.jobType !== jobType || (routingKey !== undefined && job.routingKey !== routingKey)) return false;
  return contains(job.payload, payload) && contains(job, options);
}

/** Returns whether a value has all parts of another. A Date equals its ISO text, which the payload contains. */
function contains(value: unknown, part: unknown): boolean {
  if (part === undefined) return true;
  // Matchers such as expect.any(String) decide by themselves.
  const { asymmetricMatch } = (part ?? {}) as { asymmetricMatch?: unknown };
  if (typeof asymmetricMatch === 'function') return asymmetricMatch.call(part, value) === true;
  if (value instanceof Date || part instanceof Date) return jsonOf(value) === jsonOf(part);
  if (typeof part !== 'object' || part === null || typeof value !== 'object' || value === null) return value === part;
  if (Array.isArray(part) !== Array.isArray(value)) return false;
  if (Array.isArray(part) && part.length !== (value as unknown[]).length) return false;
  return Object.entries(part).every(([name, one]) => contains((value as Record<string, unknown>)[name], one));
}

function jsonOf(value: unknown): string | undefined {
  return JSON.stringify(value);
}

/** Returns an expectation as text: `a job send_mail with {"to":"ada@example.com"}`. */
export function describeExpected({ jobType, routingKey, payload, options }: Expected): string {
  const name = handlerName({ jobType, routingKey: routingKey ?? '' });
  const parts = [payload, Object.keys(options).length > 0 ? options : undefined].flatMap((one) => jsonOf(one) ?? []);
  return `a job ${name}${parts.length > 0 ? ` with ${parts.join(' and ')}` : ''}`;
}

const LONGEST_SHOWN = 300;

/** Returns a job as one line of a message. */
export function describeJob({ id, payload, ...job }: EnqueuedJob): string {
  const { priority, runAt, startBy, status, uniqueKey, groupKey } = job;
  const given = Object.fromEntries(
    Object.entries({ startBy, uniqueKey, groupKey }).filter(([, value]) => value !== null),
  );
  const text = jsonOf(payload) ?? '';
  const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return `  ${id} ${handlerName(job)} ${shown} ${jsonOf({ status, priority, runAt, ...given })}`;
}

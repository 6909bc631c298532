import { inspect } from 'node:util';
import type { JobStatus } from './job.ts';
import { startOf } from './text.ts';

/**
 * The closed list of errors that Millrace raises. Each has a `name`, a stable `code`, and a message that states what to
 * do. `handler/chosen-outcome.ts` has the errors that a handler throws to choose an outcome.
 */
abstract class MillraceError extends Error {
  abstract readonly code: string;
}

/** `MILLRACE_SETTING`: a setting, option or definition field is missing or malformed. */
export class SettingError extends MillraceError {
  override readonly name = 'SettingError';
  readonly code = 'MILLRACE_SETTING';
  readonly field: string;

  constructor(
    field: string,
    expected: string,
    got: unknown,
    message = `${field}: expected ${expected}, got ${show(got)}`,
  ) {
    super(message);
    this.field = field;
  }

  /** Returns this error for a field inside of another: `schedules.nightly.` precedes its name. */
  at(place: string): SettingError {
    return new SettingError(`${place}${this.field}`, '', '', `${place}${this.message}`);
  }

  /** Returns this error with the name of what the setting belongs to in front, if `owner` is a name. */
  of(owner: unknown): SettingError {
    if (typeof owner !== 'string' || !/^\w{1,60}$/.test(owner)) return this;
    return new SettingError(this.field, '', '', `${owner}: ${this.message}`);
  }
}

/** One fault of a payload; `field` is a JSON pointer. */
export interface PayloadFault {
  readonly field: string;
  readonly message: string;
}

/** What else a refusal of a payload states. */
export interface PayloadContext {
  /** The faults after the first. */
  readonly others?: readonly PayloadFault[];
  /** Number of faults beyond those. */
  readonly further?: number;
  /** The handler whose payload it is, before the faults: a run can enqueue jobs of other handlers. */
  readonly handler?: string;
}

/** An error lists up to this number of faults: an array in a payload can have thousands. */
export const MOST_FAULTS = 20;

/**
 * `MILLRACE_PAYLOAD`: a payload cannot be stored or violates its handler's schema. The message lists every fault with
 * its path.
 */
export class PayloadInvalid extends MillraceError {
  override readonly name = 'PayloadInvalid';
  readonly code = 'MILLRACE_PAYLOAD';
  /** JSON pointer of the first fault. */
  readonly field: string;
  /** The first 20 faults. */
  readonly faults: readonly PayloadFault[];
  /** Number of faults beyond those. */
  readonly more: number;

  constructor(field: string, message: string, { others = [], further = 0, handler }: PayloadContext = {}) {
    const faults = [{ field, message }, ...others].slice(0, MOST_FAULTS);
    const more = 1 + others.length + further - faults.length;
    const told = faults.map((fault) => `payload${fault.field}: ${fault.message}`);
    const all = [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
    super(handler === undefined ? all : `${handler}: ${all}`);
    this.field = field;
    this.faults = faults;
    this.more = more;
  }
}

/** `MILLRACE_TIMEOUT`: an attempt exceeded its handler's timeout. */
export class TimedOut extends MillraceError {
  override readonly name = 'TimedOut';
  readonly code = 'MILLRACE_TIMEOUT';

  constructor(timeoutSeconds: number, blockedSeconds?: number) {
    const blocked = blockedSeconds === undefined ? '' : `: it blocked the event loop for ${blockedSeconds} s`;
    super(`timed out after ${timeoutSeconds} s${blocked}`);
  }
}

/** `MILLRACE_MIGRATION`: a migration cannot be applied: its file changed, a statement failed, or rights are missing. */
export class MigrationError extends MillraceError {
  override readonly name = 'MigrationError';
  readonly code = 'MILLRACE_MIGRATION';
}

/** The unfinished jobs of a removed handler are counted up to this number. */
export const MOST_COUNTED = 10_000;

/** `MILLRACE_REMOVAL`: a release removes handlers that still have unfinished jobs. */
export class HandlerRemoval extends MillraceError {
  override readonly name = 'HandlerRemoval';
  readonly code = 'MILLRACE_REMOVAL';

  constructor(stage: string, handlers: readonly { readonly handler: string; readonly jobs: number }[]) {
    const counts = handlers.map(
      ({ handler, jobs }) =>
        `${handler} has ${jobs === MOST_COUNTED ? 'at least ' : ''}${jobs} unfinished job${jobs === 1 ? '' : 's'}`,
    );
    const names = handlers.map(({ handler }) => handler).join(',');
    super(
      `${counts.join(', ')}: keep the file until these jobs have finished or are cancelled, or deploy with ` +
        `-c stage=${stage} -c drain=${names} and leave them to become dead letters after 24 hours`,
    );
  }
}

/**
 * `MILLRACE_REGISTRY`: the handlers of a release cannot be registered: another session keeps a lock, or the database
 * belongs to another stage.
 */
export class RegistryError extends MillraceError {
  override readonly name = 'RegistryError';
  readonly code = 'MILLRACE_REGISTRY';
}

/** Characters of a value that a message quotes. */
const LONGEST_SHOWN = 80;

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? JSON.stringify(value) : inLine(value);
  // Part of a message that can be stored, so without NUL or half a surrogate pair.
  const start = startOf(text, LONGEST_SHOWN).replaceAll('\0', '\u2400');
  return text.length > LONGEST_SHOWN ? `${start}…` : start;
}

/** Never throws: a setting can be any value, and an object without a prototype has no text. */
function inLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY });
}

/** `MILLRACE_API`: the API refused a request, or did not answer. The message states what to do. */
export class ApiError extends MillraceError {
  override readonly name = 'ApiError';
  readonly code = 'MILLRACE_API';
  /** HTTP status of the answer; null without an answer. */
  readonly status: number | null;
  /** The last part of the problem's `type`, such as `unknown-job-type`; null if the answer is not a problem. */
  readonly problem: string | null;

  constructor(message: string, status: number | null, problem: string | null = null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.problem = problem;
  }
}

/** `MILLRACE_JOB_ENDED`: the job that `wait` waited for did not succeed. */
export class JobEnded extends MillraceError {
  override readonly name = 'JobEnded';
  readonly code = 'MILLRACE_JOB_ENDED';
  readonly jobId: string;
  /** `dead_letter`, `skipped` or `cancelled`. */
  readonly status: JobStatus;
  /** The job's last error; null if the key lacks the scope `jobs:read`. */
  readonly lastError: string | null;

  constructor(jobId: string, status: JobStatus, lastError: string | null) {
    super(`job ${jobId} is ${status}${lastError === null ? '' : `: ${lastError}`}`);
    this.jobId = jobId;
    this.status = status;
    this.lastError = lastError;
  }
}

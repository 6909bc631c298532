/**
 * The closed list of errors that Millrace itself raises. Each has a `name`, a stable `code`, and one sentence with what
 * to do. `handler/outcome.ts` has what a handler may throw to choose an outcome.
 */
abstract class MillraceError extends Error {
  abstract readonly code: string;
}

/** A setting, option or definition field is missing or malformed. */
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
}

/** A payload cannot be stored or does not fit its handler's schema. `field` is a JSON pointer, `''` for the whole. */
export class PayloadInvalid extends MillraceError {
  override readonly name = 'PayloadInvalid';
  readonly code = 'MILLRACE_PAYLOAD';
  readonly field: string;

  constructor(field: string, message: string) {
    super(`payload${field}: ${message}`);
    this.field = field;
  }
}

/** An attempt ran longer than its handler's timeout. */
export class TimedOut extends MillraceError {
  override readonly name = 'TimedOut';
  readonly code = 'MILLRACE_TIMEOUT';

  constructor(timeoutSeconds: number) {
    super(`timed out after ${timeoutSeconds} s`);
  }
}

/** A migration cannot be applied: a changed file, a failing statement, or missing rights. */
export class MigrationError extends MillraceError {
  override readonly name = 'MigrationError';
  readonly code = 'MILLRACE_MIGRATION';
}

/** A release lacks handlers that still have unfinished jobs. */
export class HandlerRemoval extends MillraceError {
  override readonly name = 'HandlerRemoval';
  readonly code = 'MILLRACE_REMOVAL';

  constructor(handlers: readonly { readonly handler: string; readonly jobs: number }[]) {
    const counts = handlers.map(({ handler, jobs }) => `${handler} has ${jobs} unfinished job${jobs === 1 ? '' : 's'}`);
    const names = handlers.map(({ handler }) => handler).join(',');
    super(
      `${counts.join(', ')}: keep the file until these jobs have finished or are cancelled, or deploy with ` +
        `-c drain=${names} and leave them to become dead letters after 24 hours`,
    );
  }
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

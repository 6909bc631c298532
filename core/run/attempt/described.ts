import { describeFailure, type StoredError } from '../../failure.ts';
import type { NamedValues } from '../../settings/named-values.ts';

/** Describes a thrown value without the values of secrets: the text is stored and logged. */
export function describe(thrown: unknown, { redact }: Pick<NamedValues, 'redact'> = {}): StoredError {
  const error = describeFailure(thrown, redact);
  if (redact === undefined) return error;
  const { name, message, stack } = error;
  return { ...error, name: redact(name), message: redact(message), stack: stack === null ? null : redact(stack) };
}

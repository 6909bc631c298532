import { sourceErrors } from './build-and-rest.ts';

/** Returns an error that begins with the file and line of the first source that does not compile. */
export function namedPlace(cause: unknown): unknown {
  const [first] = sourceErrors(cause) ?? [];
  if (first === undefined) return cause;
  const place = first.location ? `${first.location.file}:${first.location.line}: ` : '';
  return new Error(`${place}${first.text}`, { cause });
}

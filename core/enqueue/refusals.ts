import { SettingError } from '../errors.ts';

/** The ends of the database's messages, in which some clients wrap them. */
const TOO_EARLY = /(start_by is before run_at: no attempt could start in time)`?$/;
const UNHANDLED = /(no handler of the job type \S+ is deployed: deploy one, or name a routing key)`?$/;

/** Returns whether the database refused a job whose start_by is before its run_at, whichever client reports it. */
export function isTooEarly(error: unknown): boolean {
  return endOf(error, TOO_EARLY) !== undefined;
}

/** Returns whether no handler of the job type is deployed, for a job with the routing key `*`. */
export function isUnhandled(error: unknown): boolean {
  return endOf(error, UNHANDLED) !== undefined;
}

/** Returns the end of the database's message. Only the message is the same in all clients. */
function endOf(error: unknown, end: RegExp): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // Drizzle throws an error whose cause is that of the database.
  const { message, cause } = error;
  return (end.exec(message) ?? (cause instanceof Error ? end.exec(cause.message) : null))?.[1];
}

/** Throws the error of `enqueue` with the names of its arguments. With `runAt`, they are refused before the insert. */
export function renameRefusal(error: unknown): never {
  const unhandled = endOf(error, UNHANDLED);
  if (unhandled !== undefined) throw new SettingError('handler', '', undefined, `handler: ${unhandled} with enqueue`);
  if (!isTooEarly(error)) throw error;
  const message = 'startBy: expected a time that is not before the run time that delay sets';
  throw new SettingError('startBy', '', undefined, message);
}

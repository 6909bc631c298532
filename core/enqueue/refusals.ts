import { SettingError } from '../errors.ts';

/** The ends of the database's messages, in which some clients wrap them. */
const TOO_EARLY = /start_by is before run_at: no attempt could start in time`?$/;
const UNHANDLED = /(no handler of the job type \S+ is deployed: deploy one, or name a routing key)`?$/;

/** Returns whether the database refused a job whose start_by is before its run_at, whichever client reports it. */
export function isTooEarly(error: unknown): boolean {
  return messageMatches(error, TOO_EARLY);
}

/** Returns whether no handler of the job type is deployed, for a job with the routing key `*`. */
export function isUnhandled(error: unknown): boolean {
  return messageMatches(error, UNHANDLED);
}

function messageMatches(error: unknown, end: RegExp): boolean {
  // Only the message is the same in all clients. Drizzle throws an error whose cause is that of the database.
  if (!(error instanceof Error)) return false;
  return end.test(error.message) || (error.cause instanceof Error && end.test(error.cause.message));
}

/** Throws the error of `enqueue` with the names of its arguments. With `runAt`, they are refused before the insert. */
export function renameRefusal(error: unknown): never {
  if (isUnhandled(error)) {
    const { message, cause } = error as Error;
    const [sentence] = [message, cause instanceof Error ? cause.message : ''].flatMap(
      (text) => UNHANDLED.exec(text)?.[1] ?? [],
    );
    throw new SettingError('handler', '', undefined, `handler: ${sentence} with enqueue`);
  }
  if (!isTooEarly(error)) throw error;
  const message = 'startBy: expected a time that is not before the run time that delay sets';
  throw new SettingError('startBy', '', undefined, message);
}

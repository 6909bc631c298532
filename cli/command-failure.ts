/** What a script learns from the number that a command ends with. */
export const EXIT = {
  done: 0,
  /** It ran and failed, or some of it did. */
  failed: 1,
  usage: 2,
  notFound: 3,
  /** Not known to the database, or not allowed. */
  refused: 4,
  /** The job is in a state that does not permit it. */
  conflict: 5,
  /** Needs a yes, and there was none. */
  unconfirmed: 6,
  unreachable: 7,
  /** What was to be checked is not as it should be. */
  checkFailed: 8,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Of many answers: when all are alike, their code; else some failed. */
export function exitCodeOf(codes: readonly ExitCode[]): ExitCode {
  const [only = EXIT.done, ...others] = new Set(codes);
  return others.length === 0 ? only : EXIT.failed;
}

/** Ends a command with one sentence for the person and a number for the script. Never holds a password. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

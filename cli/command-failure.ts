/** The exit codes of commands. */
export const EXIT = {
  done: 0,
  /** The command failed, in whole or in part. */
  failed: 1,
  usage: 2,
  notFound: 3,
  /** The credentials were rejected, or lack a permission. */
  refused: 4,
  /** The state of the job does not permit the operation. */
  conflict: 5,
  /** The command requires a confirmation and got none. */
  unconfirmed: 6,
  unreachable: 7,
  /** A check failed. */
  checkFailed: 8,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Returns the common code of many answers, or `failed` when they differ. */
export function exitCodeOf(codes: readonly ExitCode[]): ExitCode {
  const [only = EXIT.done, ...others] = new Set(codes);
  return others.length === 0 ? only : EXIT.failed;
}

/** Ends a command with a sentence for a person and an exit code for a script. Never contains a password. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

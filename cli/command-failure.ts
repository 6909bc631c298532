import type { ExitCode } from './exit-code.ts';

/** Ends a command with one sentence for the person and a number for the script. Never holds a password. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

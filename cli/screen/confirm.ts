import { createInterface } from 'node:readline/promises';
import { CommandFailure, EXIT } from '../command-failure.ts';

/** A larger count must be typed, since a `y` is too easy to type by mistake. */
const MANY = 100;

interface ConfirmOptions {
  readonly json?: boolean;
  /** How many rows are affected, when it can be many. */
  readonly count?: number;
}

/** Asks a person for confirmation; a script must pass --yes. @throws CommandFailure without a confirmation. */
export async function confirm(question: string, { json, count = 1 }: ConfirmOptions): Promise<void> {
  if (json || !process.stdin.isTTY || !process.stderr.isTTY) {
    throw new CommandFailure(EXIT.unconfirmed, `${question} Nothing was done: confirm with --yes`);
  }
  const readline = createInterface({ input: process.stdin, output: process.stderr });
  readline.once('SIGINT', () => process.exit(EXIT.interrupted));
  const asked = count > MANY ? `${question} Type ${count}: ` : `${question} [y/N] `;
  // Ctrl-D gives no answer, which counts as a no.
  const answer = await readline.question(asked).catch(() => '');
  readline.close();
  const agreed = count > MANY ? answer.trim() === String(count) : /^y(es)?$/i.test(answer.trim());
  if (!agreed) throw new CommandFailure(EXIT.unconfirmed, 'nothing was done');
}

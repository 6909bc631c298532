import { createInterface } from 'node:readline/promises';
import { CommandFailure, EXIT } from '../command-failure.ts';

/** A count above this has to be typed, since a `y` comes off the fingers too easily. */
const MANY = 100;

interface ConfirmOptions {
  readonly json?: boolean;
  /** How many are affected, where it can be many. */
  readonly count?: number;
}

/** Asks a person, who has to say yes; a script has to say --yes. @throws CommandFailure when neither did. */
export async function confirm(question: string, { json, count = 1 }: ConfirmOptions): Promise<void> {
  if (json || !process.stdin.isTTY || !process.stderr.isTTY) {
    throw new CommandFailure(EXIT.unconfirmed, `${question} Nothing was done: say --yes`);
  }
  const readline = createInterface({ input: process.stdin, output: process.stderr });
  readline.once('SIGINT', () => process.exit(EXIT.interrupted));
  const asked = count > MANY ? `${question} Type ${count}: ` : `${question} [y/N] `;
  // Ctrl-D is no answer, which is a no.
  const answer = await readline.question(asked).catch(() => '');
  readline.close();
  const agreed = count > MANY ? answer.trim() === String(count) : /^y(es)?$/i.test(answer.trim());
  if (!agreed) throw new CommandFailure(EXIT.unconfirmed, 'nothing was done');
}

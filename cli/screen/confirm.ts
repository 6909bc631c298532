import { isTerminal, readAnswer } from '../../local/screen/writers.ts';
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
  if (json || !process.stdin.isTTY || !isTerminal('stderr')) {
    throw new CommandFailure(EXIT.unconfirmed, `${question} Nothing was done: confirm with --yes`);
  }
  const asked = count > MANY ? `${question} Type ${count}: ` : `${question} [y/N] `;
  // Ctrl-D gives no answer, which counts as a no.
  const answer = await readAnswer(asked, () => process.exit(EXIT.interrupted));
  const agreed = count > MANY ? answer.trim() === String(count) : /^y(es)?$/i.test(answer.trim());
  if (!agreed) throw new CommandFailure(EXIT.unconfirmed, 'nothing was done');
}

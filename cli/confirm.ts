import { createInterface } from 'node:readline/promises';
import { CommandFailure } from './command-failure.ts';
import { EXIT } from './exit-code.ts';

/** Asks a person, who has to say yes; a script has to say --yes. @throws CommandFailure when neither did. */
export async function confirm(question: string, { json }: { readonly json?: boolean }): Promise<void> {
  if (json || !process.stdin.isTTY || !process.stderr.isTTY) {
    throw new CommandFailure(EXIT.unconfirmed, `${question} Nothing was done: say --yes`);
  }
  const readline = createInterface({ input: process.stdin, output: process.stderr });
  readline.once('SIGINT', () => process.exit(EXIT.interrupted));
  const answer = await readline.question(`${question} [y/N] `);
  readline.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure(EXIT.unconfirmed, 'nothing was done');
}

import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import { withoutMark } from '../../core/text.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';

/**
 * Returns standard input, without a byte order mark.
 * @throws CommandFailure when it is empty or not UTF-8.
 */
export async function readInput(): Promise<string> {
  const bytes = await buffer(process.stdin);
  if (!isUtf8(bytes)) throw new CommandFailure(EXIT.usage, 'standard input is not UTF-8 text');
  const text = withoutMark(bytes.toString('utf8'));
  if (text.trim() === '') throw new CommandFailure(EXIT.usage, 'standard input is empty');
  return text;
}

/**
 * Refuses arguments that the shell did not pass as UTF-8: Node replaces such bytes, and the text would change silently.
 * @throws CommandFailure that names the argument.
 */
export function refuseReplaced(args: readonly string[]): void {
  const index = args.findIndex((text) => text.includes('\ufffd'));
  if (index < 0) return;
  throw new CommandFailure(
    EXIT.usage,
    `argument ${index + 1} is not UTF-8 text, or contains the replacement character U+FFFD: use a UTF-8 terminal, ` +
      'or pass the text on standard input',
  );
}

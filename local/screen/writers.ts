import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import { visible } from '../../core/text.ts';

// The only file of the command line and of the stack's terminal that writes to standard output or standard error.

type Stream = 'stdout' | 'stderr';

/** Text in a style. Only a style puts escape sequences on a terminal. */
export interface Styled {
  readonly style: Parameters<typeof styleText>[0];
  readonly text: string;
}

export type Part = string | Styled;

/** Moves to the start of the line and clears it. */
const WIPE_LINE = '\r\x1b[2K';

/** Returns whether a person reads the stream, and not a program. */
export function isTerminal(stream: Stream): boolean {
  return process[stream].isTTY === true;
}

/** Returns the width of a terminal in characters; undefined when it is unknown or the stream is not a terminal. */
export function columnsOf(stream: Stream): number | undefined {
  return isTerminal(stream) ? process[stream].columns : undefined;
}

/** Writes text, and returns false when the reader is slower than this process. */
export function write(stream: Stream, ...parts: readonly Part[]): boolean {
  return process[stream].write(parts.map((part) => rendered(stream, part)).join(''));
}

export function writeLine(stream: Stream, ...parts: readonly Part[]): boolean {
  return write(stream, ...parts, '\n');
}

/** Waits until the reader of standard output has caught up. */
export async function drained(): Promise<void> {
  await once(process.stdout, 'drain');
}

/** Calls `listener` when standard output cannot be written. */
export function onWriteError(listener: (error: NodeJS.ErrnoException) => void): void {
  process.stdout.on('error', listener);
}

/** Replaces the current line of a terminal; without text, clears it. Standard error that is a file gets nothing. */
export function overwriteLine(text = ''): void {
  if (isTerminal('stderr')) process.stderr.write(WIPE_LINE + visible(text));
}

/** Returns a person's answer, which is empty after Ctrl-D. */
export async function readAnswer(question: string, onInterrupt: () => void): Promise<string> {
  const readline = createInterface({ input: process.stdin, output: process.stderr });
  readline.once('SIGINT', onInterrupt);
  const answer = await readline.question(visible(question)).catch(() => '');
  readline.close();
  return answer;
}

/** Stored text could control the terminal. In a pipe, standard output is data, which the reader gets unchanged. */
function rendered(stream: Stream, part: Part): string {
  const { style, text } = typeof part === 'string' ? { style: undefined, text: part } : part;
  const shown = stream === 'stdout' && !isTerminal(stream) ? text : visible(text);
  return style === undefined ? shown : styleText(style, shown, { stream: process[stream] });
}

import type { Readable } from 'node:stream';

/** Lambda cuts a log line here too. */
const LONGEST = 262_144;

/** Calls `onLine` with each whole line of `stream`, and with what is left at its end. */
export function onLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    if (rest.length > LONGEST) {
      onLine(rest);
      rest = '';
    }
  });
  stream.on('close', () => {
    if (rest !== '') onLine(rest);
  });
}

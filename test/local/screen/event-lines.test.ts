import { expect, it } from 'vitest';
import { LOG_EVENTS, LOG_FIELDS } from '../../../core/log-table.ts';
import { eventLine } from '../../../local/screen/event-lines.ts';

const wild = `a\u001b[2Jb\nc${'x'.repeat(1_000)}`;
const shown = `a\ufffd[2Jb c${'x'.repeat(291)}…`;

function lineOf(message: string): string {
  const event = { kind: 'log', functionName: 'millrace-local-a', message } as const;
  return textOf(eventLine(event, new Date()));
}

function textOf(parts: ReturnType<typeof eventLine> = []): string {
  return parts.map((part) => (typeof part === 'string' ? part : part.text)).join('');
}

it('a failed attempt is one line without control characters, with the time until the retry', () => {
  const error = { name: 'E', message: wild, stack: 'E: a\n    at b' };
  const log = { level: 'warn', event: 'job_failed', job_id: '7', job_type: 'a', attempt: 1, error, retry_delay_s: 5 };

  const line = lineOf(JSON.stringify(log));

  expect(line).toContain(`failed       attempt 1  E: ${shown.slice(0, -4)}…  (retry in 5 s)`);
});

it.each([
  ['a line that a function printed', wild, shown],
  [
    'an error that a function threw',
    `Invoke Error\t${JSON.stringify({ errorType: 'E', errorMessage: wild })}`,
    `E: ${shown.slice(0, -4)}…`,
  ],
])('%s is one line without control characters', (_how, message, expected) => {
  expect(lineOf(message).endsWith(`  ${expected}`)).toBe(true);
});

const queue = 'millrace-local-a-dlq';

it.each([
  [{ event: 'mirrored', queue, dead: 3 }, /^\S+ {2}a-dlq +holds 3 dead letters$/],
  [
    { event: 'mirrored', queue, dead: 1, stray: 2, left: 1, moved_on: 4, released: 5 },
    /holds 1 dead letter, 2 strays, 1 undecided message; 4 deleted: their jobs are no longer dead; 5 released: their jobs never ran$/,
  ],
  [{ event: 'mirrored', queue, moved_on: 1 }, /a-dlq +1 deleted: their jobs are no longer dead$/],
  [
    { event: 'mirror_not_covered', queue, seen: 5, depth: 7 },
    /a-dlq +saw 5 of 7 messages; the others wait for a later run$/,
  ],
  [{ event: 'dead_letter_queue_missing', queue, reason: 'deploy' }, /a-dlq +the queue is missing: deploy$/],
  [
    { event: 'carriers_sent', dispatch_id: '9', jobs: 1, sent: 1 },
    /a +claim 9: 1 of 1 missing message of dead jobs sent again$/,
  ],
  [
    { event: 'carriers_sent', dispatch_id: '9', jobs: 3, sent: 2, reason: 'no' },
    /2 of 3 missing messages .* again: no$/,
  ],
  [
    { event: 'mirror_failed', queue, error: { name: 'E', message: wild } },
    /a-dlq +cannot be read: E: a\ufffd.2Jb c.*…$/,
  ],
  [
    { event: 'send_refused', queue, dispatch_id: '9', refused: 2, no_queue: 1, reason: 'Throttled' },
    /a-dlq +claim 9: 2 messages refused, 1 message without a queue: Throttled$/,
  ],
])('an event of a dead-letter queue is described for the operator: %j', (log, expected) => {
  const line = lineOf(JSON.stringify({ level: 'info', ...log }));

  expect(line).toMatch(expected);
});

it.each([
  [{ jobs: 1, released: 1 }, 'released 1 job that had not started, to be sent again'],
  [{ jobs: 3, released: 1 }, 'released 1 of 3 jobs that had not started, to be sent again; others stay in the queue'],
  [{ jobs: 1, released: 0 }, 'could not release 1 job that had not started: back in the queue'],
])('a release of jobs that had not started names no dead-letter queue: %j', (log, expected) => {
  expect(lineOf(JSON.stringify({ level: 'info', event: 'released_unstarted', ...log }))).toContain(expected);
});

it('an empty dead-letter queue is not shown', () => {
  const line = lineOf(JSON.stringify({ level: 'info', event: 'mirrored', queue }));

  expect(line).toBe('');
});

const ATTEMPT = { job_id: '19', job_type: 'a', queue, attempt: '1/2', attempt_number: 1, max_attempts: 2 };
const DELIVERY = { dispatch_id: '19', sqs_message_id: '98c2', receive_count: 1, wait_ms: 240, duration_ms: 1 };

it.each([
  ['job_skipped', { name: 'Skip', message: 'why' }, 'skipped      attempt 1/2  Skip: why'],
  ['job_cancelled', { name: 'Cancel', message: 'why' }, 'cancelled    attempt 1/2  Cancel: why'],
  ['job_cancelled', undefined, 'cancelled    attempt 1/2'],
  [
    'job_dead_letter',
    { name: 'DeadLetter', message: 'why' },
    'dead letter  attempt 1/2  DeadLetter: why  (npx millrace jobs show 19)',
  ],
])('an outcome is described like its neighbours: %s %j', (event, error, expected) => {
  const line = lineOf(JSON.stringify({ level: 'info', event, ...ATTEMPT, ...DELIVERY, error }));

  expect(line).toMatch(/^\S+ {2}a 19 +/);
  expect(line.replace(/^\S+ {2}a 19 +/, '')).toBe(expected);
});

it.each(Object.keys(LOG_EVENTS).filter((event) => event.startsWith('job_')))(
  'the outcome of a job is a sentence without raw fields: %s',
  (event) => {
    const error = { name: 'E', message: 'no' };

    const line = lineOf(JSON.stringify({ level: 'info', event, ...ATTEMPT, ...DELIVERY, status: 's', error }));

    expect(line).not.toContain('=');
  },
);

it.each([
  [{ order: 'A-1' }, 'charging  attempt 1/2  order=A-1'],
  [{ order: 'A-1', attempt: 1 }, 'charging  attempt=1  order=A-1'],
])("a handler's own line shows the attempt once: %j", (fields, expected) => {
  const line = lineOf(JSON.stringify({ level: 'info', event: 'charging', ...ATTEMPT, ...fields }));

  expect(line.endsWith(`  ${expected}`)).toBe(true);
});

it.each([
  ['57P05', 'Verbindung wird abgebrochen wegen Zeitüberschreitung inaktiver Sitzung', ''],
  ['57P05', 'terminating connection due to idle-session timeout', ''],
  [
    '57P01',
    'terminating connection due to administrator command',
    'lost an idle database connection; the next job opens another: terminating connection due to administrator command',
  ],
  [
    undefined,
    'the proxy lost it: idle-session timeout',
    'lost an idle database connection; the next job opens another: the proxy lost it: idle-session timeout',
  ],
])(
  'a lost connection is shown unless the server ended it because it was idle: %s %s',
  (sqlstate, message, expected) => {
    const error = { name: 'error', message };
    const log = { level: 'warn', event: 'database_connection_lost', job_type: 'a', error, sqlstate };

    const line = lineOf(JSON.stringify(log));

    expect(line.endsWith(expected)).toBe(true);
    expect(line === '').toBe(expected === '');
  },
);

it.each([
  ['exit', { jobIds: ['7'] }, 'Runtime exited  (job 7; request r-1)'],
  ['timeout', { jobIds: ['7', '8'] }, 'Runtime exited  (jobs 7, 8; request r-1)'],
  ['out-of-memory', { jobIds: [] }, 'Runtime exited  (request r-1)'],
  [
    'exit',
    { jobIds: Array.from({ length: 12 }, (_, index) => String(index)) },
    'Runtime exited  (jobs 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more; request r-1)',
  ],
  ['init-failed', { jobIds: ['7'] }, 'Runtime exited'],
] as const)('the death of a process names what was lost with it: %s %j', (kind, more, expected) => {
  const event = { kind, functionName: 'millrace-local-a', message: 'Runtime exited', requestId: 'r-1', ...more };

  const line = textOf(eventLine(event, new Date()));

  expect(line.endsWith(`  ${expected}`)).toBe(true);
});

const OWN_NAMES = /\b(acknowledge|settle|bounce|adopt|given up|not ours|no handler {2})\b/;
/** Every field that a line can have. */
const FIELDS = Object.fromEntries(
  Object.entries(LOG_FIELDS).map(([name, { type }]) => {
    const values = { string: 'text', number: 2, boolean: true, object: { name: 'E', message: 'why' } };
    return [name, values[type]];
  }),
);

it.each(Object.keys(LOG_EVENTS).filter((event) => !/^(metrics|http|migration|database|job_|pruned)/.test(event)))(
  'an event of the engine is a sentence without raw fields and internal words: %s',
  (event) => {
    const line = lineOf(JSON.stringify({ ...FIELDS, event, level: 'warn', attempt: '1/2' }));

    expect(line).not.toMatch(/\w=/);
    expect(line).not.toMatch(OWN_NAMES);
  },
);

it.each(['acknowledge', 'leave', 'adopt', 'redrive', 'release'])(
  'a message that started nothing is described: %s',
  (step) => {
    const line = lineOf(
      JSON.stringify({ level: 'info', event: 'message_not_started', job_id: '7', job_type: 'a', step }),
    );

    expect(line).toMatch(/^\S+ {2}a 7 {2,}\w+( \w|ed|:)/);
    expect(line).not.toMatch(OWN_NAMES);
  },
);

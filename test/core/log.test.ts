import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Log, openLog } from '../../core/log.ts';
import { LOG_EVENTS } from '../../core/log-table.ts';
import { faultsOf } from '../support/log-lines.ts';

const ROOT = join(import.meta.dirname, '../..');

function record() {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: openLog((line) => lines.push(JSON.parse(line))) };
}

it('starts every line with the common fields, and has a message', () => {
  const { log, lines } = record();

  log.child({ queue: 'work' }).warn('released_unstarted', { job_type: 'work', jobs: 2, released: 1 });

  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(lines).toEqual([
    {
      ...{
        level: 'warn',
        timestamp: time,
        service: 'millrace',
        event: 'released_unstarted',
        message: 'released unstarted',
      },
      ...{ queue: 'work', job_type: 'work', jobs: 2, released: 1 },
    },
  ]);
  expect(faultsOf(lines[0]!)).toEqual([]);
});

it('logs an error as an object with the stack of its cause, and cuts long texts', () => {
  const { log, lines } = record();
  const error = new RangeError('x'.repeat(5_000), { cause: new Error('deep down') });

  log.error('round_failed', { error, bytes: 5n, words: 'y'.repeat(9_000) });

  expect(lines[0]).toMatchObject({
    error: { name: 'RangeError', message: expect.stringMatching(/^x{1000}… \(5011 characters\)$/) },
    bytes: '5',
    words: expect.stringMatching(/^y{8000}… \(9000 characters\)$/),
  });
});

const circular: Record<string, unknown> = { n: 1 };
circular.self = circular;
const revoked = Proxy.revocable({}, {});
revoked.revoke();

it.each([
  ['a circular object', circular, /n: 1.*Circular/],
  ['an object whose toJSON throws', { n: 1, toJSON: () => (circular.no as { no: unknown }).no }, /n: 1/],
  ['a revoked proxy', revoked.proxy, /Revoked Proxy/],
  [
    'an object with a getter that throws',
    Object.defineProperty({}, 'bad', { enumerable: true, get: () => (circular.no as { no: unknown }).no }),
    /bad/,
  ],
])('shows %s as text, and the other fields as they are', (_what, value, shown) => {
  const { log, lines } = record();

  log.error('round_failed', { error: new Error('no'), value, count: 1 });

  expect(lines).toMatchObject([
    { error: { name: 'Error', message: 'no' }, value: expect.stringMatching(shown), count: 1 },
  ]);
});

it.each([
  ['an unknown event', { event: 'something' }, 'something is an unknown event'],
  ['an unknown field', { event: 'pruned', days: 1, history_rows: 1, job: '1' }, 'job is string'],
  ['a missing field', { event: 'pruned', days: 1 }, 'history_rows is missing'],
  ['a field of another type', { event: 'pruned', days: '1', history_rows: 1 }, 'days is string'],
])('the table refuses %s', (_name, { event, ...fields }, fault) => {
  const { log, lines } = record();

  (log as Log<string>).info(event, fields);

  expect(faultsOf(lines[0]!)).toEqual([fault]);
});

it('every event in the code is in the table, and every event in the table is in the code', () => {
  const files = globSync('{core,api,functions}/**/*.ts', { cwd: ROOT });
  const texts = files.map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const written = texts.flatMap((text) => [...text.matchAll(/\blog\.(?:info|warn|error)\(\s*'(\w+)'/g)]);

  const events = new Set(written.map(([, event]) => event));

  const ofAttempts = Object.keys(LOG_EVENTS).filter((event) => event.startsWith('job_'));
  expect([...new Set([...events, ...ofAttempts])].sort()).toEqual(Object.keys(LOG_EVENTS).sort());
});

it('every event about something that was refused or is missing has its reason or error', () => {
  const names = Object.keys(LOG_EVENTS).filter((name) => !name.startsWith('job_'));
  const refusals = names.filter((name) =>
    /failed|refused|given_up|not_ours|un(readable|expected|known)|missing|lost/.test(name),
  );

  const silent = refusals.filter((name) => {
    const fields: readonly string[] = LOG_EVENTS[name as keyof typeof LOG_EVENTS];
    return !fields.includes('error') && !fields.includes('reason');
  });

  expect(refusals.length).toBeGreaterThan(15);
  expect(silent).toEqual([]);
});

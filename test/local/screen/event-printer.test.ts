import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openEventPrinter } from '../../../local/screen/event-printer.ts';
import type { Part } from '../../../local/screen/writers.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openPrinter() {
  const lines: string[] = [];
  const print = openEventPrinter((...parts: readonly Part[]) => {
    const text = parts.map((part) => (typeof part === 'string' ? part : part.text)).join('');
    lines.push(text.replace(/^\S+ +/, '').replace(/ {2,}/, '  '));
  });
  const log = (fields: object, functionName = 'millrace-local-a') =>
    print({ kind: 'log', functionName, message: JSON.stringify({ level: 'info', ...fields }) });
  return { lines, log };
}

const moved = (id: number, step = 'redrive') => ({
  event: 'message_not_started',
  job_type: 'a',
  job_id: `${id}`,
  step,
});

it('many jobs of a move task become the first line and a count', () => {
  const { lines, log } = openPrinter();

  for (let id = 1; id <= 1000; id += 1) log(moved(id));
  const before = [...lines];
  vi.advanceTimersByTime(5_000);
  log(moved(1001));

  expect(before).toEqual(['a 1  redriven by an SQS move task']);
  expect(lines.slice(1)).toEqual(['a  999 more: redriven by an SQS move task', 'a 1001  redriven by an SQS move task']);
});

it('lines are counted by function and by what happened', () => {
  const { lines, log } = openPrinter();

  log(moved(1));
  log(moved(2, 'acknowledge'));
  log(moved(3), 'millrace-local-b');
  log(moved(4, 'acknowledge'));
  vi.advanceTimersByTime(5_000);

  expect(lines).toEqual([
    'a 1  redriven by an SQS move task',
    'a 2  deleted a message from an earlier attempt: the job has moved on',
    'a 3  redriven by an SQS move task',
    'a  1 more: deleted a message from an earlier attempt: the job has moved on',
  ]);
});

it('a missing handler is reported once an hour, in words that do not repeat', () => {
  const { lines, log } = openPrinter();
  const minutely = (name: string) => {
    log({ event: 'no_handler', job_type: name, reason: `no handler for ${name}` }, 'millrace-local-dispatcher');
  };

  for (let minute = 0; minute < 59; minute += 1) {
    minutely('charge_card');
    minutely('ship');
    vi.advanceTimersByTime(60_000);
  }
  const inAnHour = [...lines];
  vi.advanceTimersByTime(60_000);
  minutely('charge_card');

  expect(inAnHour).toEqual(['dispatcher  no handler for charge_card', 'dispatcher  no handler for ship']);
  expect(lines).toHaveLength(3);
});

it('outcomes of jobs are shown one by one', () => {
  const { lines, log } = openPrinter();

  for (const job_id of ['1', '2'])
    log({ event: 'job_succeeded', job_type: 'a', job_id, attempt: '1/5', duration_ms: 3 });

  expect(lines).toEqual(['a 1  succeeded    attempt 1/5  3 ms', 'a 2  succeeded    attempt 1/5  3 ms']);
});

it('a start is not shown, but an event of this name that a handler logs is', () => {
  const { lines, log } = openPrinter();
  const attempt = { job_id: '1', job_type: 'a', attempt: '1/2', attempt_number: 1, max_attempts: 2 };

  log({ event: 'job_started', ...attempt, sqs_message_id: '98c2' });
  log({ event: 'job_started', ...attempt });

  expect(lines).toEqual(['a 1  job started  attempt 1/2']);
});

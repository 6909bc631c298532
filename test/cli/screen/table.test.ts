import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fitted, shortTime } from '../../../cli/screen/table.ts';
import { createApiKey } from '../../../core/access/api-keys.ts';
import { ROLES } from '../../../core/access/scopes.ts';
import { deploy } from '../../support/runtime-engine.ts';
import { openDeadLetters } from '../commands/dead-letters.ts';
import { runCli } from '../run-cli.ts';

const now = new Date('2026-11-29T18:10:20.345Z');

it.each([
  ['2026-11-29T03:04:05.678Z', '03:04:05Z'],
  ['2026-11-28T23:59:59.999Z', '11-28 23:59Z'],
  ['2025-12-31T00:00:00.000Z', '2025-12-31'],
])('a time in a table omits the milliseconds, and the date if it is today: %s', (time, short) => {
  expect(shortTime(new Date(time), now)).toBe(short);
});

const HEADINGS = ['ID', 'HANDLER', 'DUE', 'TIMEOUT', 'ERROR'];
const ROWS = [
  ['1', 'send_reminder', null, '30 s', 'connection refused by the mail server'],
  ['2', 'a', null, '5 s', 'no'],
];

it.each([
  [undefined, 'ID  HANDLER        TIMEOUT  ERROR', '1   send_reminder  30 s     connection refused by the mail server'],
  [60, 'ID  HANDLER        TIMEOUT  ERROR', '1   send_reminder  30 s     connection refused by the mail …'],
  [50, 'ID  HANDLER        ERROR', '1   send_reminder  connection refused by the mail…'],
  [47, 'ID  HANDLER       ERROR', '1   send_remind…  connection refused by the ma…'],
  [40, 'ID  HANDLER       ERROR', '1   send_remind…  connection refused by…'],
  [20, 'ID  HANDLER       ERROR', '1   send_remind…  connection …'],
])('a table fits %s columns', (columns, heading, first) => {
  const lines = fitted(HEADINGS, ROWS, columns);

  expect(lines.slice(0, 2)).toEqual([heading, first]);
  expect(lines).toHaveLength(3);
});

const { test, db, pool, bury } = await openDeadLetters();
beforeAll(() => {
  Object.defineProperty(process.stdout, 'columns', { configurable: true, value: 80 });
});
afterAll(() => void delete (process.stdout as { columns?: number }).columns);

const COMMANDS = ['handlers', 'jobs list', 'dlq', 'dlq list', 'redrives', 'redrive --all --dry-run', 'keys'];
/** As much of each text as every table shows. */
const TEXTS = /connect ECONNREFUSED 127\.0\.0|--error 'connect ECONNREFUSED/;

it.each(COMMANDS.map((command) => [command]))(
  '%s fits a terminal of 80 columns, with 30 characters of each text',
  async (command) => {
    await deploy(db, { jobType: 'mail' }, { jobType: 'send_reminder', maxAttempts: 8 }, { jobType: 'charge_card' });
    await bury({
      count: 120,
      error: 'connect ECONNREFUSED 127.0.0.1:5432 while sending a reminder to ada@example.com',
    });
    await bury({ jobType: 'send_reminder', error: 'HTTP 503 from https://partner.example.com/v1/charges?page=1' });
    await pool.query(`
    insert into millrace.jobs (job_type, run_at) values ('send_reminder', now() + interval '3 days');
    update millrace.handlers set paused_at = now() - interval '2 days' where job_type = 'mail';
    insert into millrace.operations (kind, filter, status, finished_at, expected_count, done_count, rate_per_second)
      values ('redrive', '{"error": "connect ECONNREFUSED 127.0.0.1:5432"}', 'done', now() - interval '1 day',
        1000, 980, 0.5)`);
    await createApiKey(db, { name: 'the key of the on-call engineer', scopes: ROLES.operator });

    const { code, stdout } = await runCli(command.split(' '), { env: { DATABASE_URL: test.url }, terminal: true });

    const lines = stripVTControlCharacters(stdout).trimEnd().split('\n');
    expect(code).toBe(0);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    if (!['handlers', 'keys'].includes(command)) expect(stdout).toMatch(TEXTS);
    expect(stdout).not.toMatch(/\d\.\d{3}Z/);
  },
);

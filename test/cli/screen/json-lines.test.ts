import { expect, it } from 'vitest';
import { createApiKey } from '../../../core/access/api-keys.ts';
import { startRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { openDeadLetters } from '../commands/dead-letters.ts';
import { runCli } from '../run-cli.ts';

const { db, test, bury, stray } = await openDeadLetters();
const run = (...args: string[]) => runCli(args, { env: { DATABASE_URL: test.url } });
/** Runs a command and masks the time at which the jobs of handlers were counted, which always differs. */
const still = async (...args: string[]) => {
  const answer = await run(...args);
  return { ...answer, stdout: answer.stdout.replaceAll(/"counted_at":"[^"]*"/g, '"counted_at":"now"') };
};
const parsed = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);

it.each([
  ['jobs list'],
  ['dlq list'],
  ['dlq groups'],
  ['dlq --fail-if-any'],
  ['redrives list'],
  ['redrives'],
  ['handlers list'],
  ['keys list'],
])('--jsonl prints the items of %s, one per line, in order and with every digit', async (command) => {
  await bury({ count: 2 });
  await bury({ error: 'bang' });
  await stray();
  await startRedrive(db, {}, { rate: 0.001 });
  await startRedrive(db, {});
  await createApiKey(db, { name: 'billing', scopes: ['jobs:read'], expiresInSeconds: undefined });
  const args = command.split(' ');

  const lines = await still(...args, '--jsonl');
  const document = await still(...args, '--json');

  const { items } = JSON.parse(document.stdout);
  expect(items.length).toBeGreaterThan(0);
  expect(parsed(lines.stdout)).toEqual(items);
  expect(document.stdout).toContain(`"items":[${lines.stdout.trimEnd().split('\n').join(',')}]`);
  expect({ code: lines.code, stderr: lines.stderr }).toEqual({ code: document.code, stderr: '' });
});

it('dlq export prints the same with and without --jsonl', async () => {
  await bury({ count: 3 });

  const [plain, lines] = [await run('dlq', 'export', '--all'), await run('dlq', 'export', '--all', '--jsonl')];

  expect(lines).toEqual(plain);
  expect(lines.stdout.match(/\n/g)).toHaveLength(3);
});

it('--jsonl prints nothing for an empty list', async () => {
  const { code, stdout, stderr } = await run('jobs', 'list', '--jsonl');

  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
});

it.each([
  ['jobs list', '--json or --jsonl, not both'],
  ['dlq', '--json or --jsonl, not both'],
  ['dlq export --all', '--json or --jsonl, not both'],
  ['redrives', '--json or --jsonl, not both'],
  ['handlers list', '--json or --jsonl, not both'],
  ['keys', '--json or --jsonl, not both'],
  ['mail', '--json or --jsonl, not both'],
])('%s rejects --json with --jsonl', async (command, sentence) => {
  const { code, stdout, stderr } = await run(...command.split(' '), '--jsonl', '--json');

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(sentence);
});

it.each([
  ['stats'],
  ['doctor'],
  ['process'],
  ['jobs show 1'],
  ['jobs cancel 1'],
  ['dlq show 7f3ac01b'],
  ['dlq discard --all'],
  ['handlers pause mail'],
  ['mail show 1'],
  ['keys create billing --scope admin'],
])('%s rejects --jsonl, since it prints no list', async (command) => {
  const words = command.split(' ');

  const { code, stdout, stderr } = await run(...words, '--jsonl');

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^error: [a-z ]+ does not print a list: --jsonl is for lists only\n$/);
  expect(words.join(' ')).toContain(/^error: ([a-z ]+) does not print/.exec(stderr)?.[1]);
});

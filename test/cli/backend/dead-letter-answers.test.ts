import { expect, it, onTestFinished } from 'vitest';
import { createLogin } from '../../support/runtime-engine.ts';
import { openDeadLetters } from '../commands/dead-letters.ts';

const { run, bury, stray, pool, test } = await openDeadLetters();

it.each([
  [['dlq', 'foo'], 'unknown command dlq foo: expected dlq groups, list, show, discard, export'],
  [['jobs', 'foo'], 'unknown command jobs foo: expected jobs list, show, wait'],
  [['handlers', 'foo', '--json'], 'unknown command handlers foo: expected handlers list, pause, resume'],
  [['mail', 'foo'], 'unknown command mail foo: expected mail list, show, stop, start'],
])('lists the subcommands for the unknown command %j', async (args, sentence) => {
  const { code, stdout, stderr } = await run(...args);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(sentence);
});

it.each([
  [['dlq', 'show', 'N'], 3],
  [['dlq', 'discard', 'N', '--yes'], 3],
  [['redrive', 'N', '--yes'], 3],
  [['jobs', 'retry', 'N'], 3],
  [['jobs', 'cancel', 'N'], 3],
])('explains that the number is that of a stray: %j', async (args, expected) => {
  await pool.query(`select setval('millrace.dead_letters_id_seq', 900000 + (random() * 90000)::integer)`);
  const number = await stray();

  const { code, stderr } = await run(...args.map((word) => (word === 'N' ? number : word)));

  expect(code).toBe(expected);
  expect(stderr).toContain(`error: job ${number} does not exist; ${number} is a stray: npx millrace dlq show --stray`);
});

it.each([
  [['dlq', 'show', 'N']],
  [['dlq', 'discard', 'N', '--yes']],
  [['redrive', 'N', '--yes']],
  [['jobs', 'retry', 'N']],
  [['jobs', 'cancel', 'N']],
])('reports who discarded a job, and when: %j', async (args) => {
  const [id] = await bury();
  await run('dlq', 'discard', id!, '--yes');

  const { code, stderr } = await run(...args.map((word) => (word === 'N' ? id! : word)));

  expect(code).toBe(5);
  expect(stderr).toMatch(new RegExp(`job ${id} is already cancelled: discarded by \\S+ at 20\\d\\d-\\S+Z\n`));
});

it.each([[['dlq']], [['redrive', '1', '--yes']], [['sql', 'select count(*) from millrace.failed_jobs']]])(
  'names the role that the login lacks: %j',
  async (args) => {
    const application = await createLogin(test, 'millrace_app');
    onTestFinished(async () => void (await application.drop()));

    const { code, stderr } = await run(...args, '--database-url', application.url);

    expect(code).toBe(4);
    expect(stderr).toContain('require the role millrace_operator (grant millrace_operator to <login>)');
  },
);

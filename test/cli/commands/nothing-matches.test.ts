import { describe, expect, it } from 'vitest';
import { openDeadLetters } from './dead-letters.ts';

const { run, bury } = await openDeadLetters();

describe('a job type that is misspelt', () => {
  it.each([
    [['dlq'], 0, 'no dead letter matches'],
    [['dlq', 'list'], 0, 'no dead letter matches'],
    [['redrive', '--yes'], 3, 'error: no dead letter matches'],
    [['redrive', '--dry-run'], 3, 'error: no dead letter matches'],
    [['dlq', 'discard', '--yes'], 3, 'error: no dead letter matches'],
    [['jobs', 'list'], 0, 'no job matches'],
  ])('is named by %j when nothing matches', async (command, code, text) => {
    await bury({ jobType: 'mail' });

    const misspelt = await run(...command, '--job-type', 'mails');
    const unknown = await run(...command, '--job-type', 'charge_card');
    const known = await run(
      ...command,
      '--job-type',
      'mail',
      ...(command[0] === 'jobs' ? ['--error', 'x'] : ['--since', '2026-01-01', '--until', '2026-01-02']),
    );

    expect(misspelt.code).toBe(code);
    expect(misspelt.stderr).toContain(`${text}; no handler of the job type mails is registered: did you mean mail?\n`);
    expect(unknown.stderr).toContain(`${text}; no handler of the job type charge_card is registered\n`);
    expect(known.stderr).not.toContain('registered');
  });
});

describe('arguments that the shell has split', () => {
  it.each([
    [['schedules', 'create', 'nightly', 'mail', '--cron', '0', '3'], `such as '0 3 * * *'.\n`],
    [['enqueue', 'mail', '{id:', '7}'], `such as '{"id": 7}'.\n`],
  ])('are refused with the way to quote them: %j', async (command, example) => {
    const files = Array.from({ length: 90 }, (_, index) => `some-file-${index}.ts`);

    const { code, stderr } = await run(...command, ...files);

    expect(code).toBe(2);
    expect(stderr).toContain(`Put an argument with spaces or * in quotes, ${example}`);
    expect(stderr.length).toBeLessThan(300);
  });
});

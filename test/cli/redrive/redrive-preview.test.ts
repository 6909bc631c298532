import { describe, expect, it } from 'vitest';
import { openDeadLetters } from '../commands/dead-letters.ts';

const { run, bury, pool } = await openDeadLetters();

describe('redrive --dry-run', () => {
  it('counts within the limit the jobs that will wait for a paused handler', async () => {
    await bury({ count: 5 });
    await pool.query('update millrace.handlers set paused_at = now()');

    const { stderr } = await run('redrive', '--all', '--limit', '2', '--dry-run');

    expect(stderr).toContain('mail is paused: its 2 jobs will wait');
  });

  it('prints with --dry-run the times that --since and --until mean', async () => {
    await bury();

    const { stderr } = await run('redrive', '--since', '2000-01-01', '--until', '2100-01-01', '--dry-run');
    const clock = await run('redrive', '--since', '00:00', '--dry-run');

    expect(stderr).toContain('of jobs that died from 2000-01-01T00:00:00.000Z to 2100-01-01T00:00:00.000Z\n');
    expect(clock.stderr).toMatch(/of jobs that died from \d{4}-\d\d-\d\dT00:00:00\.000Z on\n/);
  });
});

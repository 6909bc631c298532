import { describe, expect, it } from 'vitest';
import { openDeadLetters } from './dead-letters.ts';

const { run, bury, statusOf } = await openDeadLetters();

describe('CLI-01: jobs retry', () => {
  it('makes a dead job pending again, and explains why others stay', async () => {
    const [id] = await bury();

    const first = await run('jobs', 'retry', id!);
    const second = await run('jobs', 'retry', id!, '--json');
    const some = await run('jobs', 'retry', id!, '999999999', '--yes', '--json');
    const missing = await run('jobs', 'retry', '999999999', '--json');
    const unconfirmed = await run('jobs', 'retry', id!, '999999999', '--json');

    expect(first).toEqual({ code: 0, stdout: `${id}\tredriven\n`, stderr: '' });
    expect(second).toMatchObject({ code: 5, stderr: expect.stringContaining(`job ${id} is neither dead nor waiting`) });
    expect(JSON.parse(second.stdout)).toEqual([{ id, answer: 'not_dead' }]);
    expect(some.code).toBe(1);
    expect(missing).toMatchObject({ code: 3, stderr: 'error: job 999999999 does not exist\n' });
    expect(unconfirmed).toMatchObject({ code: 6, stdout: '' });
    expect(await statusOf(id!)).toBe('pending');
  });
});

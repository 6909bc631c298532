import { describe, expect, it } from 'vitest';
import { openDeadLetters } from './dead-letters.ts';

const { run, bury, stray } = await openDeadLetters();

describe('CLI-01: dlq export', () => {
  it('prints a JSON line for each, page after page, every digit too', async () => {
    await bury({ count: 120, payload: '{"n": 9007199254740993}' });
    await stray('\t"broken');

    const { code, stdout, stderr } = await run('dlq', 'export', '--all');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(121);
    expect(lines[0]).toContain('"payload":{"n": 9007199254740993}');
    expect(new Set(lines.map((line) => JSON.parse(line).id)).size).toBe(121);
    expect(JSON.parse(lines[120]!)).toMatchObject({ job_id: null, payload: null, raw_body: '\t"broken' });
  });

  it('needs a filter or --all', async () => {
    const { code, stdout } = await run('dlq', 'export', '--json');

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });
});

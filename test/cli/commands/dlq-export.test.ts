import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDeadLetters } from './dead-letters.ts';

const { run, bury, stray, env } = await openDeadLetters();

describe('CLI-01: dlq export', () => {
  it('prints a JSON line for each, page after page, every digit too', async () => {
    await bury({ count: 120, payload: '{"n": 9007199254740993}' });
    await stray('\t"broken');

    const { code, stdout, stderr } = await run('dlq', 'export', '--all');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(121);
    expect(lines[0]).toContain('"payload":{"n":9007199254740993}');
    expect(new Set(lines.map((line) => JSON.parse(line).dead_letter_id)).size).toBe(121);
    expect(JSON.parse(lines[120]!)).toMatchObject({ job_id: null, payload: null, raw_body: '\t"broken' });
  });

  it.each([['export', '--all'], ['list'], ['groups']])('says that the disk is full: %j %j', async (...args) => {
    await bury({ count: 3 });
    const full = await open('/dev/full', 'w');
    const launcher = join(import.meta.dirname, '../../../cli/millrace.js');
    const child = spawn(process.execPath, [launcher, 'dlq', ...args], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', full.fd, 'pipe'],
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text) => (said += text));

    const [code] = await once(child, 'close');
    await full.close();

    expect({ code, said }).toEqual({ code: 1, said: 'error: cannot write to standard output: the disk is full\n' });
  });

  it('needs a filter or --all', async () => {
    const { code, stdout } = await run('dlq', 'export', '--json');

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });
});

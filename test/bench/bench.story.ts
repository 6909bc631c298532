import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { parseResult } from '../../bench/result.ts';

/** The run starts two stacks and thirty databases: a minute on a quiet machine. */
const TIMEOUT_MS = 1_200_000;
const run = promisify(execFile);
const main = new URL('../../bench/main.ts', import.meta.url).pathname;
const folder = await mkdtemp(join(tmpdir(), 'millrace-'));
afterAll(() => rm(folder, { recursive: true }));

it.runIf(process.platform === 'linux')(
  'the benchmark answers its questions and writes the result',
  async () => {
    const file = join(folder, 'result.json');

    await run(process.execPath, [main, '--jobs=100', '--runs=1', '--only=latency,failing,payloads', '--json', file]);

    const result = parseResult(file, await readFile(file, 'utf8'));
    const systems = ['graphile-worker', 'millrace', 'pg-boss'];
    const { latency = [], failing = [], payloads = [] } = result;
    for (const rows of [failing, payloads]) {
      expect([...new Set(rows.map(({ system }) => system))].sort()).toEqual(systems);
    }
    expect(result.throughput).toBeUndefined();
    expect([...new Set(latency.map(({ name }) => name))]).toEqual([
      ...['millrace, engine', 'pg-boss, polling', 'pg-boss, notify', 'graphile-worker'],
      ...['millrace, stack, auto', 'millrace, stack, loop'],
    ]);
    expect(result.command).not.toContain(folder);
  },
  TIMEOUT_MS,
);

it('the benchmark refuses an option with one sentence', async () => {
  const refused = run(process.execPath, [main, '--only', 'speed']);

  await expect(refused).rejects.toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^--only: expected some of throughput.*, got speed\n$/),
  });
});

it('the benchmark refuses a file in a missing folder before it measures', async () => {
  const refused = run(process.execPath, [main, '--jobs=1', '--json', join(folder, 'missing', 'result.json')]);

  await expect(refused).rejects.toMatchObject({
    ...{ code: 2, stdout: '' },
    stderr: expect.stringContaining('--json: expected a file in a folder that exists and is writable'),
  });
});

import { afterEach, expect, it, vi } from 'vitest';
import type { Backend } from '../../../cli/backend/backend.ts';
import { backendByDatabase } from '../../../cli/backend/by-database.ts';
import { watchJob } from '../../../cli/commands/watch-job.ts';
import type { Database } from '../../../core/postgres/database.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const at = (second: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, second));
const job = { id: '1', job_type: 'a', routing_key: '', max_attempts: 2 };
const running = { ...job, status: 'running', attempts: 2, started_at: at(20) };
const dead = { ...job, status: 'dead_letter', attempts: 2, started_at: at(20), finished_at: at(22) };
const ended = { outcome: 'failed', errorName: 'Error', startedAt: null, delaySeconds: null, requestId: null };
const first = { ...ended, attempt: 1, finishedAt: at(10), errorMessage: 'a\u001b[2Jb\nc' };
const second = { ...ended, attempt: 2, finishedAt: at(22), errorMessage: 'late', requestId: 'r-2' };

/** The second attempt ends after the job was read as running, and before its attempts are read. */
function answers(): Backend {
  const jobs = [running, dead];
  const query = async (text: string) => ({ rows: text.includes('job_attempts') ? [second, first] : [jobs.shift()] });
  return backendByDatabase({ query } as unknown as Database);
}

it('watchJob prints the steps in the order of their times, without control characters', async () => {
  let output = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    output += chunk;
    return true;
  });

  await watchJob(answers(), '1');

  expect(output.split('\n')).toEqual([
    'attempt 1/2 failed at 2030-01-01T00:00:10.000Z   Error: a\ufffd[2Jb c',
    'running',
    'attempt 2/2 failed at 2030-01-01T00:00:22.000Z   Error: late   request r-2',
    'dead_letter',
    '',
  ]);
});

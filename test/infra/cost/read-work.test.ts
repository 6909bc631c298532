import { expect, it } from 'vitest';
import { COST_OPTIONS, costHelp, readWork } from '../../../infra/cost/read-work.ts';

it('the defaults are a million jobs of 200 ms in batches of ten', () => {
  expect(readWork([])).toMatchObject({ jobs: 1_000_000, durationSeconds: 0.2, batch: 10, sendBatch: 10, mode: 'auto' });
});

it('every option is read', () => {
  const given = {
    ...{ jobs: '5e5', duration: '2s', batch: '2.5', 'send-batch': '4', mode: 'tick', 'active-hours': '8' },
    ...{ memory: '512', work: 'computes', overhead: '50ms', failing: '2.5%', attempts: '3', door: 'api' },
    ...{ 'per-request': '20', stage: 'production', handlers: '7' },
  };

  const read = readWork(Object.entries(given).map(([name, value]) => `--${name}=${value}`));

  expect(Object.keys(given).toSorted()).toEqual(Object.keys(COST_OPTIONS).toSorted());
  expect(read).toEqual({
    ...{ jobs: 500_000, durationSeconds: 2, batch: 2.5, sendBatch: 4, mode: 'tick', activeHours: 8, memoryMb: 512 },
    ...{ kind: 'computes', overheadSeconds: 0.05, failing: 0.025, maxAttempts: 3, door: 'api', perRequest: 20 },
    ...{ stage: 'production', handlers: 7, format: 'text' },
  });
});

it.each([
  ['--jobs=0', '--jobs: expected a whole number from 1 to 1000000000, got "0"'],
  ['--jobs=1.5', '--jobs: expected a whole number from 1 to 1000000000, got "1.5"'],
  ['--duration=1y', '--duration: expected a duration such as 30s, 5m or 2h, or seconds such as 5 or 2.5, got "1y"'],
  ['--duration=15m', '--duration: expected a duration of at most 840s, got "15m"'],
  ['--batch=0', '--batch: expected a number from 1 to 10000, got "0"'],
  ['--send-batch=11', '--send-batch: expected a number from 1 to 10, got "11"'],
  ['--mode=fast', '--mode: expected one of auto, loop, tick, got "fast"'],
  ['--active-hours=25', '--active-hours: expected hours of a day, above 0 and at most 24, got "25"'],
  ['--memory=64', '--memory: expected a whole number from 128 to 10240, got "64"'],
  ['--failing=100%', '--failing: expected a share below 100%, such as 5% or 0.05, got "100%"'],
  ['--failing=-1', '--failing: expected a share below 100%, such as 5% or 0.05, got "-1"'],
  ['--attempts=101', '--attempts: expected a whole number from 1 to 100, got "101"'],
  ['--door=http', '--door: expected one of sql, api, got "http"'],
  ['--stage=staging', '--stage: expected one of try, dev, small, production, got "staging"'],
  ['--handlers=many', '--handlers: expected a whole number from 1 to 1000, got "many"'],
  ['--json=yes', '--json: expected no value, got "--json=yes"'],
])('%s is refused with what was expected', (argument, message) => {
  expect(() => readWork([argument])).toThrow(message);
});

it('an unknown option, an argument and a missing value are refused', () => {
  expect(() => readWork(['--joobs', '5'])).toThrow(/^option: expected one of --jobs, .*, got "--joobs"$/);
  expect(() => readWork(['5'])).toThrow(/^arguments: expected options such as --jobs, .*, got "5"$/);
  expect(() => readWork(['--jobs'])).toThrow('--jobs: expected a value, got "--jobs"');
});

it('a batch of computing jobs must end within 15 minutes', () => {
  const given = ['--work=computes', '--duration=2m'];

  expect(readWork([...given, '--batch=7'])?.batch).toBe(7);
  expect(() => readWork([...given, '--batch=8'])).toThrow(
    '--batch: expected at most 7 jobs of 120s, since --work is computes, got "8"',
  );
});

it('the help lists every option within 80 columns', () => {
  const lines = costHelp().split('\n');

  expect(lines.filter((line) => /^ {2}--/.test(line))).toHaveLength(Object.keys(COST_OPTIONS).length + 2);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(readWork(['--help'])).toBeUndefined();
});

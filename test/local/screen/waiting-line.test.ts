import { expect, it } from 'vitest';
import { waitingLine } from '../../../local/screen/waiting-line.ts';

const job = (jobId: string, fraction: number | null = null) => ({
  ...{ jobType: 'export_report', routingKey: '', jobId, fraction },
});

it.each([
  [
    'its progress',
    [job('5182', 0.409)],
    1,
    259.2,
    'export_report 5182 (40 %), at most 4m 20s; Ctrl-C again ends it now',
  ],
  ['no progress', [job('5182')], 1, 60, 'export_report 5182, at most 1m; Ctrl-C again ends it now'],
  [
    'a batch of ten',
    ['1', '2', '3', '4'].map((id) => job(id)),
    10,
    39,
    'export_report 1, export_report 2, export_report 3 and 7 more, at most 39s; Ctrl-C again ends them now',
  ],
  ['unknown jobs', [], 2, -3, '2 running jobs, at most 1s; Ctrl-C again ends them now'],
])('says what a stop waits for, and for how long at most: %s', (_what, ...[jobs, count, seconds, line]) => {
  expect(waitingLine(jobs, count, seconds)).toBe(`waiting for ${line}`);
});

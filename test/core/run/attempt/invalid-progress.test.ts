import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../../support/database-engine.ts';
import { boom } from '../troubled.ts';

const engine = await openDatabaseEngine();

const faultsOf = (lines: readonly Record<string, unknown>[], id: string) =>
  lines.filter(({ event, job_id: job }) => event === 'progress_invalid' && job === id);

it.each<[string, unknown[], string]>([
  ['a fraction above 1', [1.2], 'fraction: expected a number from 0 to 1, got 1.2 (stored as 1)'],
  ['a percentage', [40, 'x'], 'fraction: expected a number from 0 to 1, got 40 (stored as 1)'],
  ['a fraction below 0', [-3], 'fraction: expected a number from 0 to 1, got -3 (stored as 0)'],
  ['0 of 0', [0 / 0], 'fraction: expected a number from 0 to 1, got NaN (stored without a percentage)'],
  [
    'text as the fraction',
    ['0.5'],
    'fraction: expected a number from 0 to 1, got string (stored without a percentage)',
  ],
  ['no fraction', [], 'fraction: expected a number from 0 to 1, got undefined (stored without a percentage)'],
  [
    'a text that is an object',
    [0.5, { toString: boom }],
    'text: expected a string, got object (stored without a text)',
  ],
  ['a number as the text', [0.5, 7], 'text: expected a string, got number (stored without a text)'],
  [
    'two invalid values',
    [null, 7],
    'fraction: expected a number from 0 to 1, got null (stored without a percentage); ' +
      'text: expected a string, got number (stored without a text)',
  ],
])('logs one warning for an attempt that reports %s', async (_name, given, reason) => {
  const { ids, records } = await engine.deliver(1);
  engine.work = ({ progress }) => {
    const report = progress as (...all: unknown[]) => void;
    for (let times = 0; times < 3; times++) report(...given);
    report(17);
  };

  await engine.run(records);

  expect((await engine.state(ids[0]!)).status).toBe('succeeded');
  expect(faultsOf(engine.lines, ids[0]!)).toMatchObject([
    { level: 'warn', reason, attempt: '1/5', attempt_number: 1, max_attempts: 5, job_type: 'work', queue: 'work' },
  ]);
});

it('logs nothing for valid reports, rounding errors included', async () => {
  const { ids, records } = await engine.deliver(1);
  engine.work = ({ progress }) => {
    for (const fraction of [0, -0, 0.5, 1, 1 + 1e-12, -1e-12]) progress(fraction, 'x');
    progress(0.5);
    (progress as (...all: unknown[]) => void)(0.5, null);
  };

  await engine.run(records);

  expect((await engine.state(ids[0]!)).status).toBe('succeeded');
  expect(faultsOf(engine.lines, ids[0]!)).toEqual([]);
});

import { expect, it } from 'vitest';
import { parseOptions, QUESTIONS } from '../../bench/options.ts';

it('the benchmark answers all questions with its defaults', () => {
  const task = parseOptions([]);

  expect(task).toEqual({
    ...{ kind: 'questions', jobs: 50_000, runs: 5, batches: [10, 100, 500], questions: QUESTIONS },
    ...{ peers: true, pinned: false, stack: true, json: undefined },
  });
});

it('--only selects questions, which keep their order', () => {
  const task = parseOptions(['--only', 'failing, latency', '--no-peers', '--jobs', '500']);

  expect(task).toMatchObject({ questions: ['latency', 'failing'], peers: false, jobs: 500 });
});

it('--no-stack leaves the local stack out', () => {
  const task = parseOptions(['--no-stack']);

  expect(task).toMatchObject({ stack: false, questions: QUESTIONS.filter((question) => question !== 'stack') });
});

it('--page, --sqs and --synth are tasks of their own', () => {
  const tasks = [['--page', 'a.json'], ['--sqs', '--jobs', '7', '--runs', '1'], ['--synth']].map(parseOptions);

  expect(tasks).toEqual([
    { kind: 'page', file: 'a.json' },
    { kind: 'sqs', messages: 7, runs: 1 },
    { kind: 'synth', handlers: 300 },
  ]);
});

it.each([
  [['--only', 'speed'], '--only: expected some of throughput, phases, singles, latency, failing, payloads, load'],
  [['--only', 'latency,'], 'got nothing'],
  [['--jobs', '1.5'], '--jobs: expected a whole number above 0, got 1.5'],
  [['--runs', '0'], '--runs: expected a whole number above 0, got 0'],
  [['--batches', '10,x'], '--batches: expected a whole number above 0, got x'],
  [['--json='], '--json: expected the path of a file'],
  [['--page='], '--page: expected the path of a file'],
  [['--page', 'a.json', '--only', 'latency'], '--only: does not apply to --page; leave one of them out'],
  [['--sqs', '--json', 'a.json'], '--json: does not apply to --sqs; leave one of them out'],
  [['--handlers', '3'], '--handlers: expected together with --synth only'],
  [['--no-stack', '--only', 'stack'], '--only: no question is left without the local stack'],
  [['--rate', '3'], "Unknown option '--rate'"],
])('the options %j are refused', (args, message) => {
  expect(() => parseOptions(args)).toThrow(message);
});

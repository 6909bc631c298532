import { afterEach, expect, it, vi } from 'vitest';
import { openStartProgress } from '../../../local/screen/start-progress.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  delete (process.stderr as { isTTY?: boolean }).isTTY;
});

/** Collects what a stream gets. */
function listen(name: 'stdout' | 'stderr'): () => string {
  let text = '';
  vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
    text += chunk;
    return true;
  });
  return () => text;
}

it('a start prints a line at once, and its step every second on a terminal', async () => {
  vi.useFakeTimers();
  Object.defineProperty(process.stderr, 'isTTY', { configurable: true, value: true });
  const [output, progressLine] = [listen('stdout'), listen('stderr')];

  const progress = openStartProgress('/project');
  expect(output()).toBe('Starting Millrace in /project\n');
  const { promise, resolve } = Promise.withResolvers<number>();
  const work = progress.during('migrating the database', promise);
  vi.advanceTimersByTime(3_000);
  progress.printLine('a line of the stack');
  resolve(7);

  expect(await work).toBe(7);
  expect(progressLine().split('migrating the database')).toHaveLength(5);
  expect(progressLine()).toContain('(3 s since the start)');
  expect(output()).toContain('a line of the stack\n');
  progress.end();
  const before = progressLine();
  vi.advanceTimersByTime(10_000);
  expect(progressLine()).toBe(before);
});

it('a start prints a slow step every 10 s into a file', async () => {
  vi.useFakeTimers();
  Object.defineProperty(process.stderr, 'isTTY', { configurable: true, value: false });
  const output = listen('stdout');

  const progress = openStartProgress('/project');
  void progress.during('deploying the handlers', new Promise(() => undefined));
  vi.advanceTimersByTime(20_000);
  progress.end();

  expect(output().split('\n')).toEqual([
    'Starting Millrace in /project',
    '  deploying the handlers (10 s since the start)',
    '  deploying the handlers (20 s since the start)',
    '',
  ]);
});

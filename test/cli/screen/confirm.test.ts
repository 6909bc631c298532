import { PassThrough } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { confirm } from '../../../cli/screen/confirm.ts';

const { stdin } = process;
afterEach(() => {
  vi.restoreAllMocks();
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  delete (process.stderr as { isTTY?: boolean }).isTTY;
});

/** Simulates a person at a terminal who answers; returns a function that gives the question. */
function answering(answer: string): () => string {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => terminal });
  let asked = '';
  Object.defineProperty(process, 'stdin', { value: terminal, configurable: true });
  Object.defineProperty(process.stderr, 'isTTY', { value: true, configurable: true });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    asked += text;
    return true;
  });
  terminal.write(`${answer}\r`);
  return () => asked;
}

it.each([
  ['y', 1],
  ['YES', 100],
  ['101', 101],
])('confirm accepts %j for %d rows', async (answer, count) => {
  const asked = answering(answer);

  await confirm('Sure?', { count });

  expect(asked()).toContain(count > 100 ? 'Sure? Type 101:' : 'Sure? [y/N]');
});

it('confirm treats Ctrl-D as a no', async () => {
  answering('\u0004');

  const confirming = confirm('Sure?', {});

  await expect(confirming).rejects.toMatchObject({ exitCode: 6, message: 'nothing was done' });
});

it.each([
  ['', 1],
  ['n', 1],
  ['y', 101],
  ['yes', 40_000],
  ['1', 1],
])('confirm rejects %j for %d rows', async (answer, count) => {
  answering(answer);

  const confirming = confirm('Sure?', { count });

  await expect(confirming).rejects.toMatchObject({ exitCode: 6, message: 'nothing was done' });
});

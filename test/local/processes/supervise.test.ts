import { expect, it } from 'vitest';
import { type Running, supervise } from '../../../local/processes/supervise.ts';

/** A process that a test ends. */
function openProcess() {
  const { promise: exited, resolve: die } = Promise.withResolvers<void>();
  const running: Running = { exited, stop: async () => die() };
  return { running, die };
}

/** Supervises a process whose restarts end as `restart` does. */
function open(restart: () => Promise<Running>) {
  const lines: string[] = [];
  const [stop, halt] = [new AbortController(), new AbortController()];
  const first = openProcess();
  let restarts = 0;
  const counted = () => {
    restarts += 1;
    return restart();
  };
  const options = { name: 'Postgres', printLine: (line: string) => lines.push(line), halt: halt.signal };
  const supervised = supervise(first.running, counted, { ...options, stop: stop.signal });
  return { supervised, first, lines, stop, restarts: () => restarts };
}

const REFUSES = () => Promise.reject(new Error('its folder is gone'));

it('restarts a process until it starts', async () => {
  const next = openProcess();
  let fails = 1;
  const { supervised, first, lines } = open(async () => (fails-- > 0 ? REFUSES() : next.running));

  first.die();

  await expect.poll(() => supervised.current()).toBe(next.running);
  expect(lines).toEqual([
    'Postgres died; restarting it',
    'Postgres does not start: its folder is gone',
    'Postgres is running again',
  ]);
  await supervised.stop();
});

it('tries once to restart a process that dies while the stack stops', async () => {
  const { supervised, first, lines, stop, restarts } = open(REFUSES);
  stop.abort();

  first.die();
  await expect.poll(() => lines).toHaveLength(2);
  await supervised.stop();

  expect(restarts()).toBe(1);
});

it('gives up the restarts that it began before the stack stops', async () => {
  const { supervised, first, lines, stop, restarts } = open(REFUSES);
  first.die();
  await expect.poll(() => lines.length).toBeGreaterThan(2);
  const before = restarts();

  stop.abort();
  await supervised.stop();

  expect(restarts() - before).toBeLessThanOrEqual(1);
});

it('does not restart again a process that starts and dies while the stack stops', async () => {
  const dying: Running = { exited: Promise.resolve(), stop: async () => undefined };
  const { supervised, first, stop, restarts } = open(async () => dying);
  stop.abort();

  first.die();
  await expect.poll(restarts).toBe(1);
  await supervised.stop();

  expect(restarts()).toBe(1);
});

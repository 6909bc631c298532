import { pbkdf2Sync } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';

const spin = (): void => void Promise.resolve().then(spin);

function keepBusy(ms: number): string {
  for (const end = performance.now() + ms; performance.now() < end; );
  return 'done';
}

/** Things that a job can do to its process, by name. */
const DEEDS: Record<string, () => unknown> = {
  end: () => 'done',
  wait: () => wait(60_000),
  loop: () => {
    for (;;);
  },
  busyPastTimeout: () => keepBusy(4_000),
  regex: () => /^(a+)+$/.test(`${'a'.repeat(64)}b`),
  microtasks: spin,
  native: () => {
    for (;;) pbkdf2Sync('password', 'salt', 100_000_000, 64, 'sha512');
  },
  reject: () => {
    void wait(10).then(() => Promise.reject(new Error('not awaited')));
    return wait(60_000);
  },
  throw: () => {
    setTimeout(() => {
      throw new Error('not caught');
    });
    return wait(60_000);
  },
  exit: () => process.exit(3),
  abort: () => process.abort(),
  stop: () => {
    process.kill(process.pid, 'SIGSTOP');
    return 'done';
  },
  kill: () => process.kill(process.pid, 'SIGKILL'),
};

/** The handler `work` of the test engine, for functions that run in separate processes. */
export default defineHandler({
  jobType: 'work',
  payload: z.object({ deed: z.string(), afterMs: z.number().default(0) }),
  timeout: 3,
  run: async ({ payload: { deed, afterMs } }) => {
    await wait(afterMs);
    return DEEDS[deed]?.();
  },
});

import { handlerSource } from './sources.ts';

const ONE_SECOND = `timeout: '1s', maxAttempts: 1,`;

/** Handlers whose run ends without an answer, by job type, with the error that the job then has. */
export const ENDINGS: Readonly<Record<string, { body: string; options?: string; error: RegExp }>> = {
  never_ends: { body: 'await new Promise(() => undefined);', error: /timed out after 1 s/ },
  waits_too_long: { body: 'await wait(60_000, undefined, { signal });', error: /timed out after 1 s/ },
  spins: { body: 'for (;;) undefined;', error: /timed out after 1 s: it blocked the event loop/ },
  exits_well: { body: 'process.exit(0);', error: /process\.exit\(0\) was called/ },
  exits_badly: { body: 'process.exit(1);', error: /process\.exit\(1\) was called/ },
  exhausts_memory: {
    body: 'const all = []; for (;;) { all.push(Buffer.alloc(10_000_000, 1)); await wait(5); }',
    options: `timeout: '5s', maxAttempts: 1, memory: 128,`,
    error: /its process ran out of memory \(it used all of its 128 MB\): raise memory/,
  },
  is_killed: { body: `process.kill(process.pid, 'SIGKILL');`, error: /its process was killed \(SIGKILL\)/ },
  crashes: { body: `process.kill(process.pid, 'SIGSEGV');`, error: /ended by a signal \(segmentation fault\)/ },
  blocks_in_native_code: {
    body: `for (;;) pbkdf2Sync('password', 'salt', 100_000_000, 64, 'sha512');`,
    error: /killed at the function's timeout of \d+ s/,
  },
};

/** Returns the source of each handler by file name. */
export function endingSources(): Record<string, string> {
  const sources = Object.entries(ENDINGS).map(([jobType, { body, options = ONE_SECOND }]) => {
    return [`${jobType.replaceAll('_', '-')}.ts`, handlerSource(jobType, body, options)];
  });
  return Object.fromEntries(sources);
}

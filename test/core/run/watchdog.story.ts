import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const MODULE = new URL('../../../core/run/watchdog.ts', import.meta.url).href;
/** The module that the other thread loads: it prints the report, and the blocked thread continues. */
const SHOWS = `import { writeSync } from 'node:fs';
  export const takeOver = (report) => void writeSync(1, JSON.stringify({ report }) + '\\n');`;

/** Runs this code in a process with a watchdog; returns the printed lines and the exit code. */
async function runProcess(code: string, { takeOver = SHOWS }: { takeOver?: string } = {}) {
  const folder = await temporaryFolder();
  const [main, file] = [join(folder, 'main.mjs'), join(folder, 'take-over.mjs')];
  await writeFile(file, takeOver);
  const source = `import { openWatchdog } from ${JSON.stringify(MODULE)};
    const log = { warn: (event, { error }) => console.log(JSON.stringify({ event, error: error.message })) };
    const watchdog = openWatchdog({ file: ${JSON.stringify(`file://${file}`)}, limitMs: 100, log });
    function keepBusy(ms) { for (const end = performance.now() + ms; performance.now() < end;); }
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const report = () => ({ stack: new Error().stack });
    ${code}
    console.log(JSON.stringify('continues'));`;
  await writeFile(main, source);
  const child = spawn(process.execPath, [main], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const lines = (await text(child.stdout)).split('\n').filter(Boolean);
  return { lines: lines.map((line) => JSON.parse(line) as unknown), exit: await ended };
}

it('requests the report of a blocked thread in the middle of the blocking code', async () => {
  const { lines } = await runProcess('watchdog.watch(report); keepBusy(5_000);');

  expect(lines).toContainEqual({ report: { stack: expect.stringContaining('at keepBusy') } });
  expect(lines.at(-1)).toBe('continues');
});

it.each([
  ['waits', 'watchdog.watch(report); await wait(5_000);'],
  ['is blocked after its jobs have ended', 'watchdog.watch(report)(); keepBusy(5_000);'],
  [
    'is not blocked all the time',
    'watchdog.watch(report); for (let n = 0; n < 5; n++) { keepBusy(1_000); await wait(20); }',
  ],
])('does not disturb a thread that %s', async (_what, code) => {
  const { lines } = await runProcess(code);

  expect(lines).toEqual(['continues']);
});

it.each([
  ['cannot be loaded', 'throw new Error("broken");'],
  ['throws', 'export const takeOver = () => { throw new Error("broken"); };'],
])('lets the blocked thread continue if the code that takes over %s', async (_what, takeOver) => {
  const { lines } = await runProcess('watchdog.watch(report); keepBusy(5_000); await wait(200);', { takeOver });

  expect(lines).toEqual([{ event: 'watchdog_failed', error: 'broken' }, 'continues']);
});

it('does not prevent a process from ending', async () => {
  const { exit } = await runProcess('watchdog.watch(report); await wait(500); process.exit(3);');
  const { lines } = await runProcess('watchdog.watch(report)(); await wait(500);');

  expect(exit).toBe(3);
  expect(lines).toEqual(['continues']);
});

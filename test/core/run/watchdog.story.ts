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
/** The same, and ends the process. */
const ENDS = `import { writeSync } from 'node:fs';
  export const takeOver = (report) => {
    writeSync(1, JSON.stringify({ report }) + '\\n');
    process.kill(process.pid, 'SIGKILL');
  };`;

/** Runs this code in a process with a watchdog; returns the printed lines and the exit code. */
async function runProcess(code: string, { takeOver = SHOWS }: { takeOver?: string } = {}) {
  const folder = await temporaryFolder();
  const [main, file] = [join(folder, 'main.mjs'), join(folder, 'take-over.mjs')];
  await writeFile(file, takeOver);
  const source = `import vm from 'node:vm';
    import { DEBUGGER_FRAMES, openWatchdog } from ${JSON.stringify(MODULE)};
    const log = { warn: (event, { error }) => console.log(JSON.stringify({ event, error: error.message })) };
    const watchdog = openWatchdog({ file: ${JSON.stringify(`file://${file}`)}, limitMs: 100, log });
    function keepBusy(ms) { for (const end = performance.now() + ms; performance.now() < end;); }
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const report = () => ({ stack: new Error().stack.replace(DEBUGGER_FRAMES, '') });
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

/** `(func (export "f") (loop (br 0)))` */
const WASM = '0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,7,5,1,1,102,0,0,10,9,1,7,0,3,64,12,0,11,11';

it.each([
  ['in its own function', '(function work() { for (;;) {} })();', 'at work '],
  ['in a new context of node:vm', "vm.runInNewContext('for (;;) {}', {});", 'at evalmachine.<anonymous>:1:'],
  [
    'in a created context',
    "new vm.Script('function f() { for (;;) {} } f()').runInContext(vm.createContext({}));",
    'at f (evalmachine.<anonymous>:1:',
  ],
  [
    'in a context without a frame outside it',
    "vm.runInNewContext('async function f() { await wait(50); for (;;) {} } f()', { wait }); await wait(60_000);",
    'at f (evalmachine.<anonymous>:1:',
  ],
  ['under a parameter called Symbol', '(function work(Symbol) { for (;;) {} })({});', 'at work '],
  ['under a parameter called globalThis', '(function work(globalThis) { for (;;) {} })({});', 'at work '],
  [
    'in WebAssembly',
    `new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.of(${WASM}))).exports.f();`,
    'at wasm://',
  ],
])('reports code that blocks its thread %s, with its stack', async (_what, code, place) => {
  const { lines } = await runProcess(`watchdog.watch(report); ${code}`, { takeOver: ENDS });

  expect(lines).toEqual([{ report: { stack: expect.stringContaining(`Error\n    ${place}`) } }]);
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

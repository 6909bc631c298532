import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterEach, expect, it } from 'vitest';
import { type Children, openChildren } from '../../../local/processes/children.ts';
import { eventually } from '../../support/eventually.ts';

let opened: Children[] = [];
const open = (): Children => {
  const children = openChildren();
  opened.push(children);
  return children;
};
afterEach(async () => {
  await Promise.all(opened.map((children) => children.close()));
  opened = [];
});

/** True for a running process; false for a zombie. */
function runs(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function firstLine(stream: NodeJS.ReadableStream | null): Promise<string> {
  const [line] = await once(createInterface({ input: stream! }), 'line');
  return line as string;
}

it('a child has its arguments, its environment and its own process group', async () => {
  const children = open();

  const child = children.spawn('/bin/sh', ['-c', 'echo "$1|$WORD|$$"', 'sh', "it's one"], { env: { WORD: 'w' } });
  const line = await firstLine(child.process.stdout);
  const ending = await child.exited;

  expect(line).toBe(`it's one|w|${child.pid}`);
  expect(ending).toEqual({ code: 0, signal: null });
});

it('a child inherits no descriptor of the reaper', async () => {
  const children = open();

  const child = children.spawn('/bin/sh', ['-c', 'exec ls /proc/self/fd | tr "\\n" " "; echo']);
  const line = await firstLine(child.process.stdout);

  // 3 is the folder that ls reads; it would be 4 if the reaper's pipe were still open.
  expect(line.trim().split(' ')).not.toContain('4');
});

it('an unknown command exits with code 127, and a missing folder throws', async () => {
  const children = open();

  const child = children.spawn('/no/such/command', [], { stdio: 'ignore' });

  expect(await child.exited).toEqual({ code: 127, signal: null });
  expect(() => children.spawn('/bin/true', [], { cwd: '/no/such/folder' })).toThrow('/bin/true in /no/such/folder');
});

it('the exit of a child ends its grandchildren', async () => {
  const children = open();

  const child = children.spawn('/bin/sh', ['-c', 'sleep 300 & echo $!']);
  const grandchild = Number(await firstLine(child.process.stdout));
  await child.exited;

  await eventually(() => expect(runs(grandchild)).toBe(false));
});

it('close ends running, stopped and signal-ignoring children, and SIGINT allows one to clean up', async () => {
  const children = openChildren();
  const running = children.spawn('sleep', ['300']);
  const stopped = children.spawn('sleep', ['300']);
  const deaf = children.spawn('/bin/sh', ['-c', "trap '' INT TERM HUP; echo up; sleep 300"]);
  const polite = children.spawn('/bin/sh', ['-c', "trap 'exit 7' INT; echo up; while :; do sleep 0.05; done"], {
    lastSignal: 'INT',
  });
  await Promise.all([firstLine(deaf.process.stdout), firstLine(polite.process.stdout)]);
  stopped.kill('SIGSTOP');

  await children.close();

  expect([running, stopped, deaf].map(({ pid }) => runs(pid))).toEqual([false, false, false]);
  expect(await polite.exited).toEqual({ code: 7, signal: null });
});

const CHILDREN = new URL('../../../local/processes/children.ts', import.meta.url).href;

it('a SIGKILL of the parent leaves no child, grandchild or stopped child', async () => {
  const parent = spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { once } from 'node:events';
       import { openChildren } from ${JSON.stringify(CHILDREN)};
       const children = openChildren();
       const gone = children.spawn('true', []);
       await gone.exited;
       const stopped = children.spawn('/bin/sh', ['-c', 'echo; exec sleep 300']);
       const polite = children.spawn('/bin/sh', ['-c', 'echo; exec sleep 300'], { lastSignal: 'INT' });
       for (const child of [stopped, polite]) child.process.stdout.once('data', () => child.kill('SIGSTOP'));
       await Promise.all([stopped, polite].map((child) => once(child.process.stdout, 'data')));
       const child = children.spawn('/bin/sh', ['-c', 'sleep 300 & echo $!; wait']);
       child.process.stdout.on('data', (data) => console.log(parseInt(data), child.pid, stopped.pid, polite.pid));`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const pids = (await firstLine(parent.stdout)).split(/\s+/).map(Number);

  parent.kill('SIGKILL');

  expect(pids.every(Number.isInteger) && pids.length).toBe(4);
  await eventually(() => expect(pids.filter(runs)).toEqual([]));
});

/** Returns the process id of the reaper, which ends the children of this process when this process dies. */
function reaperOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const found = children.find((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes("trap '' INT HUP"));
  return Number(found);
}

it.each([1, 2])('a reaper that was killed %i times is replaced, and children start again', async (times) => {
  const children = open();
  const before = children.spawn('sleep', ['300']);

  for (let round = 0; round < times; round += 1) {
    const reaper = await eventually(() => {
      const found = reaperOf(process.pid);
      expect(found).toBeGreaterThan(0);
      return found;
    });
    process.kill(reaper, 'SIGKILL');
    await eventually(() => expect(runs(reaper)).toBe(false));
  }

  const after = await eventually(() => children.spawn('/bin/sh', ['-c', 'echo up; exec sleep 300']));
  expect(await firstLine(after.process.stdout)).toBe('up');
  expect(runs(before.pid)).toBe(true);
});

it('a SIGKILL of the parent leaves no child after its reaper was replaced', async () => {
  const parent = spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { openChildren } from ${JSON.stringify(CHILDREN)};
       const children = openChildren();
       const up = (child) => new Promise((resolve) => child.process.stdout.once('data', resolve));
       const old = children.spawn('/bin/sh', ['-c', 'echo; exec sleep 300']);
       await up(old);
       console.log(old.pid);
       process.stdin.once('data', async () => {
         const young = children.spawn('/bin/sh', ['-c', 'echo; exec sleep 300']);
         await up(young);
         console.log(young.pid);
       });`,
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
  const nextPid = async () => Number((await lines.next()).value);
  const old = await nextPid();
  const reaper = reaperOf(parent.pid!);
  process.kill(reaper, 'SIGKILL');
  await eventually(() => expect(reaperOf(parent.pid!)).not.toBe(reaper));
  await eventually(() => expect(reaperOf(parent.pid!)).toBeGreaterThan(0));
  parent.stdin.write('\n');
  const young = await nextPid();

  parent.kill('SIGKILL');

  await eventually(() => expect([old, young].filter(runs)).toEqual([]));
});

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openProbe } from '../../../core/catalog/probe.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** The verdict on a file that exports a number: its import ended. */
const NO_HANDLER = 'its default export is not a handler: create it with defineHandler';

async function verdictOn(source: string): Promise<string | undefined> {
  const file = join(await temporaryFolder(), 'handler.ts');
  await writeFile(file, source);
  const read = await openProbe({ processorMs: 500, turns: 5 })(file, []);
  return 'message' in read ? read.message : undefined;
}

describe('a handler file is refused before it is imported', () => {
  it.for([
    ['while (true) {}', /^its import used 1 s of processor time: move such work into run$/],
    ['for (;;) await null;', /^its import used 1 s of processor time/],
    ['setInterval(() => 1, 10); await new Promise(() => undefined);', /^its import waits for something that does not/],
    ['await new Promise((done) => setTimeout(done, 3_600_000));', /^its import waits for something that does not/],
    ['process.exit(3);', /ends the process \(exit code 3\)/],
    ['process.exit(0);', /ends the process \(exit code 0\)/],
    ['await new Promise(() => undefined);', /top-level await that never ends/],
    ['void Promise.reject(new Error("too late"));', /throws an error while it is imported.*Error: too late/],
  ] as const)('if it contains %s', async ([source, reason]) => {
    expect(await verdictOn(source)).toMatch(reason);
  });
});

it('imports a file to its end, and reports an error that its import throws', async () => {
  const verdicts = await Promise.all([verdictOn('export default 1;'), verdictOn('throw new Error("here");')]);

  expect(verdicts).toEqual([NO_HANDLER, 'Error: here']);
});

const child = (options: string) =>
  `import { spawn } from 'node:child_process'; spawn('sleep', ['60'], ${options}).unref();`;

it.each([
  ['prints when its process exits', "process.on('exit', () => console.log('bye'));", undefined],
  ['prints an error when its process exits', "process.on('exit', () => console.error('bye'));", undefined],
  ['prints without a line break', "process.stdout.write('hello');", undefined],
  ['starts a process that keeps its output open', child("{ stdio: 'inherit', detached: true }"), undefined],
  [
    'exits after it has started such a process',
    `${child("{ stdio: 'inherit', detached: true }")} process.exit(3);`,
    /exit code 3/,
  ],
  [
    'prints its arguments, and exits',
    "process.stdout.write('imported ' + process.argv.join(), () => process.exit(0));",
    /exit code 0/,
  ],
  [
    'prints much, and throws',
    "process.stderr.write('x'.repeat(500_000) + '\\n'); void Promise.reject(new Error('too late'));",
    /Error: too late/,
  ],
])('judges a file that %s', async (_what, source, reason) => {
  const verdict = await verdictOn(source);

  if (reason === undefined) expect(verdict).toMatch(/default export/);
  else expect(verdict).toMatch(reason);
});

it('accepts a file that passes a limit beside others and not alone', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'handler.mjs');
  // Stands for a process that is slowed down: the first import uses more than the limit, the second does not.
  await writeFile(
    file,
    `import { existsSync, writeFileSync } from 'node:fs';
    const seen = ${JSON.stringify(join(folder, 'seen'))};
    const slow = !existsSync(seen);
    writeFileSync(seen, '');
    while (slow);
    export default 1;`,
  );

  expect(await openProbe({ processorMs: 500, turns: 5 })(file, [])).toEqual({ file, message: NO_HANDLER });
});

it('does not count the time for which the process is not running', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'handler.mjs');
  // A stopped process is the extreme of a busy machine: it gets no processor time at all.
  await writeFile(
    file,
    `import { spawn } from 'node:child_process';
    spawn('/bin/sh', ['-c', 'kill -STOP $0; sleep 3; kill -CONT $0', String(process.pid)], { stdio: 'ignore' });
    await new Promise((done) => setTimeout(done, 200));
    export default 1;`,
  );

  expect(await openProbe({ processorMs: 2_000, turns: 20 })(file, [])).toEqual({ file, message: NO_HANDLER });
});

it('imports a few files at a time', async () => {
  const folder = await temporaryFolder();
  const story = join(folder, 'story');
  const tell = (word: string) => `appendFileSync(${JSON.stringify(story)}, '${word}');`;
  const source = `
    import { appendFileSync } from 'node:fs';
    ${tell('+')}
    await new Promise((done) => setTimeout(done, 1_000));
    ${tell('-')}
    export default 1;`;
  const files = Array.from({ length: 12 }, (_, index) => join(folder, `handler-${index}.mjs`));
  await Promise.all(files.map((file) => writeFile(file, source)));
  const probe = openProbe();

  const verdicts = await Promise.all(files.map((file) => probe(file, [])));

  let most = 0;
  let now = 0;
  for (const word of await readFile(story, 'utf8')) {
    now += word === '+' ? 1 : -1;
    most = Math.max(most, now);
  }
  expect(verdicts).toEqual(files.map((file) => ({ file, message: NO_HANDLER })));
  expect(now).toBe(0);
  expect(most).toBeLessThanOrEqual(4);
});

it('imports other files while one is imported again, and ends the import of a version that was replaced', async () => {
  const folder = await temporaryFolder();
  const files = ['slow.mjs', 'fast.mjs'].map((name) => join(folder, name)) as [string, string];
  const seen = ['first', 'second'].map((name) => join(folder, name)) as [string, string];
  // The first import passes the limit of processor time; the second waits for half an hour.
  await writeFile(
    files[0],
    `import { existsSync, writeFileSync } from 'node:fs';
    const [first, second] = ${JSON.stringify(seen)};
    const isAgain = existsSync(first);
    writeFileSync(isAgain ? second : first, '');
    while (!isAgain);
    setInterval(() => 1, 10);
    await new Promise(() => undefined);`,
  );
  await writeFile(files[1], 'export default 1;');
  const probe = openProbe({ processorMs: 1_000, turns: 18_000 });

  const slow = probe(files[0], []);
  await expect.poll(() => existsSync(seen[1]), { timeout: 30_000 }).toBe(true);
  const fast = await probe(files[1], []);
  await writeFile(files[0], 'export default 2;');

  expect(fast).toEqual({ file: files[1], message: NO_HANDLER });
  expect(await probe(files[0], [])).toEqual({ file: files[0], message: NO_HANDLER });
  expect(await slow).toEqual({ file: files[0], message: 'was saved again while it was imported' });
});

it.each([
  ['a top-level await', 'setInterval(() => 1, 10); await new Promise(() => undefined);'],
  ['a loop', 'while (true);'],
  ['an import of a slow module', `await import('data:text/javascript,${'while (true);'}');`],
])('reports once that a file with %s is still imported', async (_what, source) => {
  const file = join(await temporaryFolder(), 'hang-it.mjs');
  await writeFile(file, source);
  const lines: string[] = [];
  const probe = openProbe({ processorMs: 500, turns: 5 }, { printLine: (line) => lines.push(line), afterMs: 50 });

  await Promise.all([probe(file, []), probe(file, [])]);

  expect(lines).toEqual(['hang-it.mjs: still importing']);
});

it('does not report a file that is imported at once', async () => {
  const file = join(await temporaryFolder(), 'quick.mjs');
  await writeFile(file, 'export default 1;');

  await openProbe(undefined, { printLine: expect.unreachable, afterMs: 600_000 })(file, []);
});

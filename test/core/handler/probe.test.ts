import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openProbe } from '../../../core/handler/probe.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function verdictOn(source: string): Promise<string | undefined> {
  const file = join(await temporaryFolder(), 'handler.ts');
  await writeFile(file, source);
  return (await openProbe(2_000)(file))?.message;
}

describe('a handler file is refused before it is imported', () => {
  it.for([
    ['while (true) {}', /did not finish importing within 2 s/],
    ['process.exit(3);', /ends the process \(exit code 3\)/],
    ['process.exit(0);', /ends the process \(exit code 0\)/],
    ['await new Promise(() => undefined);', /top-level await that never ends/],
    ['void Promise.reject(new Error("too late"));', /throws an error while it is imported.*Error: too late/],
  ] as const)('if it contains %s', async ([source, reason]) => {
    expect(await verdictOn(source)).toMatch(reason);
  });
});

it('accepts a file that can be imported, and one whose import throws', async () => {
  const verdicts = await Promise.all([verdictOn('export default 1;'), verdictOn('throw new Error("here");')]);

  expect(verdicts).toEqual([undefined, undefined]);
});

it('imports a few files at a time, so that many do not time out', async () => {
  const folder = await temporaryFolder();
  const story = join(folder, 'story');
  const tell = (word: string) => `appendFileSync(${JSON.stringify(story)}, '${word}');`;
  const source = `
    import { appendFileSync } from 'node:fs';
    ${tell('+')}
    await new Promise((done) => setTimeout(done, 1_000));
    ${tell('-')}`;
  const files = Array.from({ length: 12 }, (_, index) => join(folder, `handler-${index}.mjs`));
  await Promise.all(files.map((file) => writeFile(file, source)));
  const probe = openProbe();

  const verdicts = await Promise.all(files.map(probe));

  let most = 0;
  let now = 0;
  for (const word of await readFile(story, 'utf8')) {
    now += word === '+' ? 1 : -1;
    most = Math.max(most, now);
  }
  expect(verdicts).toEqual(files.map(() => undefined));
  expect(now).toBe(0);
  expect(most).toBeLessThanOrEqual(4);
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openProbe } from '../../local/probe-handler.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function verdictOn(source: string): Promise<string | undefined> {
  const file = join(await temporaryFolder(), 'handler.ts');
  await writeFile(file, source);
  return (await openProbe(2_000)(file))?.message;
}

describe('a handler file is refused before it is imported', () => {
  it.for([
    ['while (true) {}', /not imported within 2 s/],
    ['process.exit(3);', /ends the process \(exit code 3\)/],
    ['process.exit(0);', /ends the process \(exit code 0\)/],
    ['await new Promise(() => undefined);', /await at its top level that never ends/],
    ['void Promise.reject(new Error("too late"));', /throws while it is imported.*Error: too late/],
  ] as const)('when it says %s', async ([source, reason]) => {
    expect(await verdictOn(source)).toMatch(reason);
  });
});

it('passes a file that can be imported, and one that throws in plain sight', async () => {
  const verdicts = await Promise.all([verdictOn('export default 1;'), verdictOn('throw new Error("here");')]);

  expect(verdicts).toEqual([undefined, undefined]);
});

import { readdirSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { emptyFolder } from '../../local/folder-lock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

async function folderWith(...names: readonly string[]): Promise<string> {
  const data = await temporaryFolder();
  await writeFile(join(data, 'lock.sqlite'), '');
  for (const name of names) {
    if (name.includes('.')) await writeFile(join(data, name), '');
    else await mkdir(join(data, name));
  }
  return data;
}

const LOCK = 'lock.sqlite';

it('what a fresh start deletes is printed while everything is still there', async () => {
  const data = await folderWith('postgres', 'mail', 'sqs.sqlite', 'sqs.sqlite-wal');
  const printed: [line: string, entries: string[]][] = [];

  await emptyFolder(data, LOCK, (line) => printed.push([line, readdirSync(data)]));

  expect(printed).toEqual([
    [
      `deleting the data of earlier starts in ${data}: mail, postgres, sqs.sqlite, sqs.sqlite-wal`,
      ['lock.sqlite', 'mail', 'postgres', 'sqs.sqlite', 'sqs.sqlite-wal'],
    ],
  ]);
  expect(await readdir(data)).toEqual([LOCK]);
});

it('a fresh start without earlier data prints nothing', async () => {
  const data = await folderWith('lock.sqlite-journal');

  await emptyFolder(data, LOCK, expect.unreachable);

  expect(await readdir(data)).toEqual([LOCK, 'lock.sqlite-journal']);
});

it('the line of a fresh start names at most ten entries, and none can control the terminal', async () => {
  const data = await folderWith(...Array.from({ length: 12 }, (_, n) => `a${String(n).padStart(2, '0')}\u001b[2J`));
  const lines: string[] = [];

  await emptyFolder(data, LOCK, (line) => lines.push(line));

  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/: a00\ufffd\[2J, .*, a09\ufffd\[2J and 2 more$/);
  expect(await readdir(data)).toEqual([LOCK]);
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compareWithLastDatabase } from '../../../local/services/last-database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const GIVEN = 'postgres://shop_owner:secret@127.0.0.1:5432/shop';

/** Starts once for each database, in one folder, and returns the lines printed by each start. */
async function linesOf(databases: readonly (string | undefined)[]) {
  const data = await temporaryFolder();
  const printed: string[][] = [];
  for (const database of databases) {
    const lines: string[] = [];
    await compareWithLastDatabase(data, database, (line) => lines.push(line));
    printed.push(lines);
  }
  return { data, printed };
}

it('says once that the option of the last start is missing', async () => {
  const { printed } = await linesOf([GIVEN, GIVEN, undefined, undefined]);

  const line =
    'the last start in this folder used --database-url postgres://shop_owner@127.0.0.1:5432/shop: ' +
    'this one has a Postgres and jobs of its own';
  expect(printed).toEqual([[], [], [line], []]);
});

it('says nothing in a folder that never used the option', async () => {
  const { printed } = await linesOf([undefined, undefined]);

  expect(printed).toEqual([[], []]);
});

it('stores no password', async () => {
  const { data } = await linesOf([GIVEN]);

  expect(await readFile(join(data, 'last-database'), 'utf8')).not.toContain('secret');
});

import { expect, it } from 'vitest';
import { startRedrive, stepRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { openDeadLetters } from './dead-letters.ts';

const { db, bury, run } = await openDeadLetters();
const json = async (...args: string[]) => JSON.parse((await run('redrives', ...args, '--json')).stdout);

it('redrives lists redrives, newest first, and shows one', async () => {
  await bury({ count: 3 });
  const first = await startRedrive(db, {});
  for (const _step of [1, 2, 3]) await stepRedrive(db, first, 10);
  const second = await startRedrive(db, {}, { rate: 0.5 });

  const [document, plain, shown] = await Promise.all([json(), run('redrives'), run('redrives', 'show', first)]);

  expect(document.items).toMatchObject([
    { id: second, status: 'running', rate_per_second: 0.5 },
    { id: first, status: 'done', done: 3, expected: 3 },
  ]);
  expect(plain.stdout).toMatch(new RegExp(`^${second}\trunning\t0\t0\t-\t0.5/s\t`));
  expect(shown.stdout).toContain(`redrive\t${first}\nstatus\tdone\nmoved\t3 of 3\n`);
});

it('redrives cancel cancels a running redrive, and rejects any other', async () => {
  await bury();
  const id = await startRedrive(db, {}, { rate: 0.001 });

  const cancelled = await run('redrives', 'cancel', id);
  const again = await run('redrives', 'cancel', id);
  const none = await run('redrives', 'cancel', '999999');

  expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining('status\tcancelled\n') });
  expect(again).toMatchObject({ code: 5, stderr: `error: redrive ${id} is not running: it is cancelled\n` });
  expect(none).toMatchObject({ code: 3, stderr: 'error: redrive 999999 does not exist: see npx millrace redrives\n' });
});

import { expect, it } from 'vitest';
import type { DeadLetterFilter } from '../../../core/dead-letters/filter.ts';
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

it.each([
  [{}, '--all'],
  [{ jobTypes: ['mail', 'a'], routingKey: '', limit: 2 }, "--job-type mail,a --routing-key '' --limit 2"],
  [{ error: "it's 'no'", group: 'abcd' }, String.raw`--error 'it'\''s '\''no'\''' --group abcd`],
  [
    { jobIds: ['1', '2', '3', '4', '5', '6'], since: new Date(0), until: new Date(1000) },
    '--id 1,2,3,4,5,… (6 jobs) --since 1970-01-01T00:00:00.000Z --until 1970-01-01T00:00:01.000Z',
  ],
])(
  'redrives shows what was redriven: %j',
  async ({ limit, ...filter }: DeadLetterFilter & { limit?: number }, flags) => {
    const id = await startRedrive(db, filter, { rate: 1, limit });

    const [list, shown, document] = await Promise.all([run('redrives'), run('redrives', 'show', id), json('show', id)]);

    expect(list.stdout.split('\n')[0]).toMatch(new RegExp(`^${id}\t`));
    expect(list.stdout.split('\n')[0]!.endsWith(`\t${flags}`)).toBe(true);
    expect(shown.stdout).toContain(`\nfilter\t${flags}\n`);
    expect(document.skipped).toBe(0);
    expect(Object.keys(document.filter).length).toBe(flags.match(/--/g)?.length);
  },
);

it('redrives cancel ends a redrive that has moved everything as done, however often', async () => {
  await bury({ count: 2 });
  const id = await startRedrive(db, {}, { rate: 10_000 });
  await db.query(`update millrace.operations set stepped_at = millrace.clock() - interval '1 s' where id = $1`, [id]);
  await stepRedrive(db, id, 2);

  const before = await json('show', id);
  const cancelled = await run('redrives', 'cancel', id);
  const again = await run('redrives', 'cancel', id);

  expect(before).toMatchObject({ status: 'running', done: 2 });
  expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining('status\tdone\nmoved\t2 of 2\n') });
  expect(again).toEqual(cancelled);
  expect(again.stderr).toBe(`redrive ${id} is done: it had moved all that it can\n`);
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

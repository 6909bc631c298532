import { expect, it } from 'vitest';
import type { ReadFile } from '../../../local/functions/handler-bundles.ts';
import { BROKEN, openHandlersWorld } from './handlers-world.ts';

const { open, registered } = await openHandlersWorld();

it('registers a file that was saved beside a broken one, and forgets the complaint when that one is good', async () => {
  const { handlers, lines, handler, sync } = await open();

  await sync({ a: handler('a'), b: BROKEN });
  expect(await registered()).toEqual(['a']);
  expect(handlers.complaints()).toEqual([BROKEN]);

  await sync({ a: handler('a'), b: BROKEN, c: handler('c') });
  expect(await registered()).toEqual(['a', 'c']);

  await sync({ a: handler('a'), b: handler('b'), c: handler('c') });
  expect(await registered()).toEqual(['a', 'b', 'c']);
  expect(handlers.complaints()).toEqual([]);
  expect(lines).toEqual([BROKEN, 'c was added', 'b was added']);
});

it('keeps the last good version of a file that is broken now', async () => {
  const { handlers, handler, sync } = await open();
  await sync({ a: handler('a'), b: handler('b') });

  await sync({ a: handler('a'), b: BROKEN });

  expect(await registered()).toEqual(['a', 'b']);
  expect(handlers.list().map(({ definition }) => definition.jobType)).toEqual(['a', 'b']);
});

it('reloads, adds and removes files while another file is still being read', async () => {
  const { lines, inApi, handler, unchanged, changed, sync } = await open();
  await sync({ slow: handler('slow'), fast: handler('fast'), old: handler('old') });
  const slow = Promise.withResolvers<ReadFile>();

  const first = sync({
    slow: slow.promise,
    fast: await changed('fast'),
    added: handler('added'),
    old: unchanged('old'),
  });
  await expect.poll(() => lines.toSorted()).toEqual(['added was added', 'fast was reloaded']);
  const second = sync({ slow: slow.promise, fast: unchanged('fast'), added: unchanged('added') });
  await expect.poll(() => lines.at(-1)).toBe('old was removed; its jobs stay in the database');

  expect(await registered()).toEqual(['added', 'fast', 'slow']);
  slow.resolve(await changed('slow'));
  await Promise.all([first, second]);
  expect(lines.filter((line) => line === 'slow was reloaded')).toHaveLength(1);
  expect(inApi.at(-1)?.toSorted()).toEqual(['added', 'fast', 'slow']);
});

it('does not let the API import a file that is still being read', async () => {
  const { inApi, handler, changed, sync } = await open();
  await sync({ slow: handler('slow'), fast: handler('fast') });
  const slow = Promise.withResolvers<ReadFile>();

  const syncing = sync({ slow: slow.promise, fast: await changed('fast') });
  await expect.poll(() => inApi).toEqual([['fast']]);
  slow.resolve('functions/handlers/slow.ts: its import waits for something that does not happen');
  await syncing;

  expect(inApi.at(-1)).toEqual(['fast']);
});

it('uses the newest version of a file that is saved again while its old version is being read', async () => {
  const { handlers, lines, handler, changed, sync } = await open();
  await sync({ a: handler('a') });
  const old = Promise.withResolvers<ReadFile>();

  const first = sync({ a: old.promise });
  await sync({ a: await changed('a') });
  old.resolve('functions/handlers/a.ts: was saved again while it was imported');
  await first;

  expect(lines).toEqual(['a was reloaded']);
  expect(handlers.complaints()).toEqual([]);
});

it('stops without waiting for a file that is still being read', async () => {
  const { lines, stop, handler, sync } = await open();
  await sync({ a: handler('a') });

  const syncing = sync({ a: new Promise<ReadFile>(() => undefined) });
  stop.abort();
  await syncing;

  expect(lines).toEqual([]);
});

import { expect, it } from 'vitest';
import { readDocument, tableBelow } from '../../../docs/documents.ts';
import { openDatabaseEngine } from '../../../support/database-engine.ts';
import { COLUMNS, receiveOne } from './arrivals.ts';
import { bringTo, claimJob, drain } from './job-states.ts';
import { SCENES } from './scenes.ts';
import { judge, outcomeOf } from './verdict.ts';
import { hiddenSeconds, openWorld } from './world.ts';

const engine = await openDatabaseEngine();

const document = readDocument('docs/lifecycle.md');
const table = tableBelow(document, 'What a message means');
const cells = table.flatMap(([label = '', ...wanted]) =>
  COLUMNS.flatMap((column, index) =>
    Object.entries(SCENES[label] ?? {}).map(([standing, arrange]) => ({
      ...{ label, column, standing, arrange, want: wanted[index] ?? '' },
    })),
  ).filter(({ want }) => want !== '–'),
);

it('covers every row and every column of the page, and no other', () => {
  const head = `| the job is | ${COLUMNS.join(' | ')} |`;

  expect(document.text).toContain(head);
  expect(table.map(([label]) => label)).toEqual(Object.keys(SCENES));
  expect(table.filter((row) => row.length !== COLUMNS.length + 1)).toEqual([]);
});

it.each(cells)('$label ($standing), $column: $want', async ({ label, arrange, column, want }) => {
  const world = await openWorld(engine);
  const scene = await arrange(world, column);

  const verdict = await judge(world, scene);

  const { met } = verdict;
  expect(met).toMatchObject({ status: scene.status, tooOften: label.includes('more than 5 times') });
  expect(met.column ?? column).toBe(column);
  if (label.startsWith('dead_letter')) expect(met.recorded).toBe(!label.includes('none recorded'));
  expect(verdict.seen).toEqual(outcomeOf(want, verdict.before, scene));
});

it('a message that is sent in the same millisecond as the recorded one is another delivery', async () => {
  const world = await openWorld(engine);
  world.freeze();
  const { jobId, record } = await claimJob(world);
  await bringTo(world, 'dead_letter', record);
  await drain(world);
  await world.send(world.work.queueUrl, record.body);
  const twin = await receiveOne(world, world.work.queueUrl);

  await world.handle('work', [twin]);

  expect(twin.attributes?.SentTimestamp).toBe(record.attributes?.SentTimestamp);
  expect(await engine.state(jobId)).toMatchObject({ status: 'pending', attempts: 0 });
});

it('a message that is left is hidden exactly until its visibility timeout', async () => {
  const world = await openWorld(engine);
  const { queueUrl } = world.work;
  world.freeze();
  await world.send(queueUrl, engine.body('9223372036854775807', '1'));
  await world.handle('work', [await receiveOne(world, queueUrl)]);

  await world.advance(hiddenSeconds(engine) - 2);
  const before = await world.depth(queueUrl);
  await world.advance(2);
  const after = await world.depth(queueUrl);

  expect([before, after]).toEqual([
    { visible: 0, hidden: 1 },
    { visible: 1, hidden: 0 },
  ]);
});

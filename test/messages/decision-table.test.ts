import { expect, it } from 'vitest';
import { readDocument, tableBelow } from '../docs/documents.ts';
import { openEngine } from '../support/engine.ts';
import { COLUMNS } from './arrivals.ts';
import { SCENES } from './scenes.ts';
import { judge, outcomeOf } from './verdict.ts';
import { openWorld } from './world.ts';

const engine = await openEngine();

const document = readDocument('docs/lifecycle.md');
const table = tableBelow(document, 'What a message means');
const cells = table.flatMap(([label = '', ...wanted]) =>
  COLUMNS.flatMap((column, index) =>
    Object.entries(SCENES[label] ?? {}).map(([standing, arrange]) => ({
      ...{ label, column, standing, arrange, want: wanted[index] ?? '' },
    })),
  ).filter(({ want }) => want !== '–'),
);

it('knows every row and every column of the page, and no other', () => {
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

import { expect, it } from 'vitest';
import { sparkline } from '../../../cli/screen/sparkline.ts';

it.each([
  ['the largest count is the highest, and zero is a dot', [0, 1, 4, 8, 0], 10, '·▁▄█·'],
  ['any event is visible', [1, 100_000], 10, '▁█'],
  ['counts side by side are added up to fit the width', [1, 1, 2, 2, 4], 3, '▄██'],
  ['no events', [0, 0], 10, '··'],
  ['no counts', [], 10, ''],
])('%s', (_case, counts, width, graph) => {
  expect(sparkline(counts, width)).toBe(graph);
});

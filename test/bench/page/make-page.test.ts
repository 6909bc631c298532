import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { barsOf } from '../../../bench/bars.ts';
import { withResults } from '../../../bench/page/make-page.ts';
import { drawPlots } from '../../../bench/page/plots.ts';
import { barTable } from '../../../bench/page/sections.ts';
import { parseResult } from '../../../bench/result.ts';
import { SAMPLE } from './sample-result.ts';

const page = readFileSync(new URL('../../../docs/performance.md', import.meta.url), 'utf8');
const { throughput: _, ...withoutThroughput } = SAMPLE;

it('the page keeps its own text and gets the results of the measurement', () => {
  const text = withResults(page, SAMPLE);

  const [before = '', after = ''] = page.split(/<!-- results.*-->[\s\S]*<!-- end of the results -->/);
  expect(before).toContain('## What is measured');
  expect(after).toContain('## Other targets');
  expect(text.startsWith(before)).toBe(true);
  expect(text.endsWith(after)).toBe(true);
  expect(text).toContain('2026-12-01, commit `abc1234`: `npm run bench --`.');
  expect(text).toContain('2 x CPU, 8 GB, Linux 6, Node 24.21.0, Postgres 18.4 (shared_buffers=512MB),');
  expect(text).toContain(
    'loads in 62 ms of processor time.\n`openTestDatabase` takes 0.12 s, and 2.50 s the first time.',
  );
  expect(text).not.toContain('Earlier results');
});

it('a page that was made can be made again', () => {
  const once = withResults(page, withoutThroughput);

  expect(withResults(once, SAMPLE)).toBe(withResults(page, SAMPLE));
});

it('a page without the lines around the results is refused', () => {
  expect(() => withResults('# Performance', SAMPLE)).toThrow('docs/performance.md: expected the lines <!-- results');
});

it('each bar is met, not met, or not measured yet', () => {
  const rows = barTable(SAMPLE).split('\n');

  expect(rows).toContain('| batch 10: jobs/s, pg-boss | at least 2.5 | 2.00 | not met |');
  expect(rows).toContain('| batch 100: jobs/s, pg-boss | at least 1.5 | 2.00 | met |');
  expect(rows).toContain('| batch 100: processor time of Postgres, pg-boss | at most 0.5 | 0.50 | met |');
  expect(rows).toContain('| batch 500: jobs/s, pg-boss | at least 1.15 |  | not measured yet |');
  expect(rows).toContain('| batch 100: jobs/s, graphile-worker | at least 1 |  | not measured yet |');
  expect(rows).toContain('| inserts, 32 at once: jobs/s, pg-boss | at least 1 | 1.00 | met |');
  expect(rows).toContain('| local stack, loop, 1/s: ms to start, p50 | at most 600 | 510 | met |');
  expect(rows).toContain('| local stack, loop, 100/s: ms to start, p99 | at most 2000 | 2400 | not met |');
  expect(rows).toContain('| local stack, auto, 1/s: ms to start, p50 | at most 600 |  | not measured yet |');
  expect(rows).toContain('| local stack, batches of 10: SQS requests a job | at most 0.32 | 0.31 | met |');
});

it('docs/performance.md states every bar', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| '));

  const missing = barsOf({}).filter(
    ({ label, bar }) => !rows.some((row) => row.startsWith(`| ${label} | at `) && row.includes(` ${bar} |`)),
  );

  expect(missing).toEqual([]);
});

it('every plot that the page links is drawn, and no other', () => {
  const text = withResults('<!-- results: npm run bench -- --page writes them --><!-- end of the results -->', SAMPLE);

  const linked = [...text.matchAll(/!\[[\w ]+\]\(performance\/([\w-]+\.svg)\)/g)].map(([, name]) => name);
  expect(linked).toEqual(['throughput.svg', 'singles.svg', 'latency.svg', 'failing.svg', 'payloads.svg']);
  expect([...drawPlots(SAMPLE).keys()].sort()).toEqual(linked.sort());
});

it('a question without an answer is not measured yet, and has no plot', () => {
  const text = withResults(page, withoutThroughput);

  expect(text).toContain('### Throughput\n\nNot measured yet.\n');
  expect([...drawPlots(withoutThroughput).keys()]).not.toContain('throughput.svg');
});

it('a file that --json wrote is read back whole', () => {
  expect(parseResult('a.json', JSON.stringify(SAMPLE))).toEqual(SAMPLE);
});

it.each([
  ['no JSON', 'a.json: expected the JSON that npm run bench -- --json writes'],
  [JSON.stringify({ ...SAMPLE, format: 0 }), 'a.json: format: '],
  [JSON.stringify({ ...SAMPLE, stack: { upSeconds: '4' } }), 'a.json: stack.upSeconds: '],
])('%s is refused with the name of the file', (text, message) => {
  expect(() => parseResult('a.json', text)).toThrow(message);
});

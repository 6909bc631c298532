import { expect, it } from 'vitest';
import { type Chart, drawChart, formatNumber } from '../../../bench/page/chart.ts';

const chart: Chart = {
  title: 'Jobs/s <of "ours"> & theirs',
  groups: ['batch 10', 'batch 100'],
  series: [
    { name: 'ours', values: [50, 100], upTo: [75, undefined] },
    { name: 'theirs & more', values: [25, undefined] },
  ],
  scale: 'linear',
};

/** Returns the heights of the bars, which have the colours of their series. */
function heights(svg: string): number[] {
  return [...svg.matchAll(/<rect x="[\d.]+" y="[\d.]+" width="[\d.]+" height="([\d.]+)" fill="#\w+"><title>/g)].map(
    ([, height]) => Number(height),
  );
}

/** Throws unless each element is closed, in the right order, and returns the names. */
function elementsOf(svg: string): Set<string> {
  const open: string[] = [];
  const names = new Set<string>();
  for (const [, end, name = ''] of svg.matchAll(/<(\/?)([a-z]+)(?: [\w:-]+="[^"<&]*(?:&\w+;[^"<&]*)*")*>/g)) {
    names.add(name);
    if (end === '') open.push(name);
    else expect(open.pop()).toBe(name);
  }
  expect(open).toEqual([]);
  expect(svg.split('<').length - 1).toBe([...svg.matchAll(/<\/?[a-z]/g)].length);
  return names;
}

it('a chart is a document of closed elements without scripts', () => {
  const svg = drawChart(chart);

  expect([...elementsOf(svg)].sort()).toEqual(['line', 'rect', 'style', 'svg', 'text', 'title']);
  expect(svg).not.toMatch(/\son\w+=|href|url\(|@import/);
});

it('a chart shows its title, groups, series and values as text', () => {
  const svg = drawChart(chart);

  const texts = [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
  expect(texts).toEqual([
    'Jobs/s &lt;of &quot;ours&quot;&gt; &amp; theirs',
    ...['ours', 'theirs &amp; more'],
    ...['0', '20', '40', '60', '80', '100'],
    ...['50', '75', '25', 'batch 10', '100', 'batch 100'],
  ]);
});

it('bars on a linear axis are as high as their values, and a missing value has none', () => {
  const [fifty = 0, twentyFive = 0, hundred = 0, ...others] = heights(drawChart(chart));

  expect(others).toEqual([]);
  expect(fifty / hundred).toBeCloseTo(0.5, 2);
  expect(twentyFive / hundred).toBeCloseTo(0.25, 2);
});

it('a line leads from the number of a bar to the end of its range', () => {
  const svg = drawChart(chart);

  const [line, ...others] = [
    ...svg.matchAll(/<line class="range" x1="[\d.]+" x2="[\d.]+" y1="([\d.]+)" y2="([\d.]+)"/g),
  ];
  const [from = 0, to = 0] = [line?.[1], line?.[2]].map(Number);
  const [fifty = 0] = heights(svg);
  expect(others).toEqual([]);
  expect(290 - from).toBeCloseTo(fifty + 14, 0);
  expect(290 - to).toBeCloseTo(1.5 * fifty, 0);
});

it('bars on a logarithmic axis rise by as much for each factor of ten', () => {
  const series = [{ name: 'ours', values: [1, 10, 100, 1000, 0] }];

  const svg = drawChart({ ...chart, groups: ['a', 'b', 'c', 'd', 'e'], series, scale: 'log' });

  const [one, ten = 0, hundred, thousand, zero] = heights(svg);
  expect([one, zero]).toEqual([0, 0]);
  expect(hundred).toBeCloseTo(2 * ten, 0);
  expect(thousand).toBeCloseTo(3 * ten, 0);
});

it('every shape lies inside the picture, with many series and long names', () => {
  const series = Array.from({ length: 7 }, (_, index) => ({
    name: `a job system with a long name, number ${index}`,
    values: [index, 3_000_000],
    upTo: [undefined, 4_000_000],
  }));

  const svg = drawChart({ ...chart, series });

  const numbers = (names: string) =>
    [...svg.matchAll(new RegExp(` (?:${names})="([-\\d.]+)"`, 'g'))].map(([, n]) => Number(n));
  expect(Math.min(...numbers('x|x1|x2|y|y1|y2|height'))).toBeGreaterThanOrEqual(0);
  expect(Math.max(...numbers('x|x1|x2'))).toBeLessThan(760);
  expect(Math.max(...numbers('y|y1|y2'))).toBeLessThan(320);
});

it('a chart draws without a positive value', () => {
  const svg = drawChart({ ...chart, series: [{ name: 'ours', values: [0, undefined] }], scale: 'log' });

  expect(svg).not.toContain('NaN');
  expect(svg).not.toContain('Infinity');
});

it('numbers have three digits, or separators', () => {
  expect([0, 0.123456, 7.5, 99.96, 1234567].map(formatNumber)).toEqual(['0', '0.123', '7.5', '100', '1,234,567']);
});

it('the picture has its own background and colours for dark browsers', () => {
  const svg = drawChart(chart);

  const [light = '', dark = ''] = svg.split('@media (prefers-color-scheme: dark)');
  for (const part of [light, dark]) expect(part).toMatch(/\.page \{ fill: #\w{6}; \} text \{ fill: #\w{6}; \}/);
});

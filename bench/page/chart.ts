export interface Series {
  readonly name: string;
  /** A value for each group; undefined: not measured. */
  readonly values: readonly (number | undefined)[];
  /** Ends of thin lines above the bars, such as a higher percentile. */
  readonly upTo?: readonly (number | undefined)[];
}

/** Bars in groups. */
export interface Chart {
  readonly title: string;
  readonly groups: readonly string[];
  readonly series: readonly Series[];
  readonly scale: 'linear' | 'log';
}

const WIDTH = 760;
const BOTTOM = 290;
const HEIGHT = 320;
const LEFT = 64;
const RIGHT = 12;
const TITLE_Y = 24;
const LEGEND_Y = 46;
const LINE = 18;
const GROUP_GAP = 20;
const VALUE_HEIGHT = 14;
/** Of the font, about. */
const LETTER = 6.6;
const COLOURS = ['#3b82c4', '#d9822b', '#3d9a5f', '#8c6bc8', '#c9504f', '#2f9c9c', '#8a8f98'];
/** The background belongs to the picture, because a page can be dark in a browser that is light. */
const STYLE = `
  svg { font: 12px system-ui, sans-serif; }
  .page { fill: #ffffff; } text { fill: #24292f; } .grid { stroke: #d0d7de; } .range { stroke: #24292f; }
  .title { font-weight: 600; font-size: 14px; } .value { font-size: 10px; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } text { fill: #e6edf3; } .grid { stroke: #30363d; } .range { stroke: #e6edf3; }
  }
`;

type Attributes = Readonly<Record<string, string | number>>;

interface Axis {
  readonly ticks: readonly number[];
  /** Returns the vertical place of a value. */
  y(value: number): number;
}

/** Draws a chart as an SVG document without scripts, readable on light and dark pages. */
export function drawChart(chart: Chart): string {
  const legend = legendOf(chart.series.map(({ name }) => name));
  const axis = axisOf(chart, LEGEND_Y + legend.lines * LINE);
  const parts = [
    tag('style', {}, STYLE),
    tag('rect', { class: 'page', width: WIDTH, height: HEIGHT, rx: 6 }),
    text(chart.title, { class: 'title', x: LEFT, y: TITLE_Y }),
    ...legend.parts,
    ...axis.ticks.flatMap((tick) => [
      tag('line', { class: 'grid', x1: LEFT, x2: WIDTH - RIGHT, y1: axis.y(tick), y2: axis.y(tick) }),
      text(formatNumber(tick), { x: LEFT - 8, y: axis.y(tick) + 4, 'text-anchor': 'end' }),
    ]),
    ...chart.groups.flatMap((_, index) => drawGroup(chart, axis, index)),
  ];
  const size = { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` };
  const root = { xmlns: 'http://www.w3.org/2000/svg', ...size, role: 'img', 'aria-label': chart.title };
  return `${tag('svg', root, `\n${parts.join('\n')}\n`)}\n`;
}

function drawGroup({ groups, series }: Chart, axis: Axis, index: number): string[] {
  const width = (WIDTH - LEFT - RIGHT) / groups.length;
  const left = LEFT + index * width + GROUP_GAP / 2;
  const bar = (width - GROUP_GAP) / series.length;
  const bars = series.flatMap(({ name, values, upTo }, place) => {
    const value = values[index];
    if (value === undefined) return [];
    const [x, y] = [left + place * bar, axis.y(value)];
    const middle = x + bar / 2;
    const rect = { x, y, width: bar - 2, height: Math.max(0, BOTTOM - y), fill: colourOf(place) };
    return [
      tag('rect', rect, tag('title', {}, escaped(`${name}, ${groups[index]}: ${formatNumber(value)}`))),
      valueText(value, middle, y),
      ...drawRange(axis, upTo?.[index], middle, y),
    ];
  });
  const label = { x: left + (width - GROUP_GAP) / 2, y: BOTTOM + LINE, 'text-anchor': 'middle' };
  return [...bars, text(groups[index] ?? '', label)];
}

/** Draws a line from the number above a bar to the end of its range, and the number of that end. */
function drawRange(axis: Axis, end: number | undefined, x: number, bar: number): string[] {
  if (end === undefined) return [];
  const [from, to] = [bar - VALUE_HEIGHT, axis.y(end)];
  if (to > from - VALUE_HEIGHT) return [];
  return [tag('line', { class: 'range', x1: x, x2: x, y1: from, y2: to }), valueText(end, x, to)];
}

function valueText(value: number, x: number, y: number): string {
  return text(formatNumber(value), { class: 'value', x, y: y - 3, 'text-anchor': 'middle' });
}

/** Places the names in as many lines as they require. */
function legendOf(names: readonly string[]): { parts: string[]; lines: number } {
  let [x, line] = [LEFT, 0];
  const parts = names.flatMap((name, place) => {
    const width = name.length * LETTER + 30;
    if (x > LEFT && x + width > WIDTH - RIGHT) [x, line] = [LEFT, line + 1];
    const [left, y] = [x, LEGEND_Y + line * LINE];
    x += width;
    return [
      tag('rect', { x: left, y: y - 9, width: 10, height: 10, fill: colourOf(place) }),
      text(name, { x: left + 15, y }),
    ];
  });
  return { parts, lines: line + 1 };
}

/** A logarithmic axis goes from one power of ten to another, a linear one from 0 to a round number. */
function axisOf({ series, scale }: Chart, top: number): Axis {
  const all = series.flatMap(({ values, upTo = [] }) => [...values, ...upTo]).filter((value) => value !== undefined);
  const most = Math.max(...all, Number.MIN_VALUE);
  const place = (share: number) => round(BOTTOM - Math.min(1, Math.max(0, share)) * (BOTTOM - top - LINE));
  if (scale === 'linear') {
    const step = roundStep(most / 5);
    const count = Math.max(1, Math.ceil(most / step));
    const ticks = Array.from({ length: count + 1 }, (_, index) => index * step);
    return { ticks, y: (value) => place(value / (count * step)) };
  }
  const positive = all.filter((value) => value > 0);
  const from = Math.floor(Math.log10(Math.min(...positive, most)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(most)));
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
  return { ticks, y: (value) => place(value > 0 ? (Math.log10(value) - from) / (to - from) : 0) };
}

/** Returns the next number of 1, 2, 5, 10, 20, … */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

/** Returns three significant digits, or the whole number with separators. */
export function formatNumber(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}

function colourOf(place: number): string {
  return COLOURS[place % COLOURS.length] ?? '';
}

function text(content: string, attributes: Attributes): string {
  return tag('text', attributes, escaped(content));
}

function tag(name: string, attributes: Attributes, content = ''): string {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(String(round(value)))}"`);
  return `<${name}${list.join('')}>${content}</${name}>`;
}

function round<T extends string | number>(value: T): T | number {
  return typeof value === 'number' ? Math.round(value * 10) / 10 : value;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

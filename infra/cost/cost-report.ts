import type { PriceLine } from '../plan/prices.ts';
import { UNIT_PRICES } from '../plan/unit-prices.ts';
import type { Cost } from './compute-cost.ts';

const DATES = Object.values(UNIT_PRICES).map(({ date }) => date);
const WIDTHS = { service: 12, what: 22, number: 12, dollars: 11 };
const MILLION = 1_000_000;

/** Formats what jobs cost, for a terminal of 80 columns. */
export function costReport(cost: Cost): string {
  const { options, dollars } = cost;
  const { handlers } = options;
  return [
    ...title(options),
    '',
    head('the jobs', 'a million'),
    ...cost.jobs.map((line) => row(line, (line.dollars / options.jobs) * MILLION)),
    total('sum of the jobs', dollars.jobs, dollars.perMillionJobs),
    '',
    head(`at rest, ${handlers} ${handlers === 1 ? 'handler' : 'handlers'}`),
    ...cost.atRest.map((line) => row(line)),
    total('sum at rest', dollars.atRest),
    '',
    total('together', dollars.total),
    '',
    'the same jobs, $ a month without a database and logs',
    ...[{ service: 'Millrace', what: 'jobs and at rest', dollars: dollars.comparable }, ...cost.elsewhere].map(other),
    '',
    'How it is computed, and what is not counted: docs/cost.md',
  ].join('\n');
}

function title(options: Cost['options']): string[] {
  const { jobs, durationSeconds, memoryMb, batch, kind, stage, mode, activeHours, door, failing } = options;
  const overlap = kind === 'waits' ? '' : ', one after another';
  const dates = DATES.toSorted();
  return [
    `${count(jobs)} jobs a month of ${duration(durationSeconds)} and ${memoryMb} MB, in batches of ${batch}${overlap}`,
    `stage ${stage}, dispatch ${mode}, jobs ${activeHours} h a day by ${door}, ${share(failing)} of attempts fail`,
    `us-east-1, arm64, without free tiers, prices of ${dates[0]} to ${dates.at(-1)}`,
  ];
}

/** Returns what jobs cost as JSON, with the prices. */
export function costJson(cost: Cost): string {
  const { format: _format, ...options } = cost.options;
  return JSON.stringify({ region: 'us-east-1', ...cost, options, unitPrices: UNIT_PRICES }, undefined, 2);
}

function head(title: string, last = ''): string {
  const { service, what, number, dollars } = WIDTHS;
  const right = ['requests', 'GB-s'].map((name) => name.padStart(number)).join('');
  return title.padEnd(service + what) + right + '$ a month'.padStart(dollars) + last.padStart(last ? dollars : 0);
}

function row({ service, what, requests, gbSeconds, dollars }: PriceLine, perMillion?: number): string {
  const numbers = [requests, gbSeconds].map((value) => (value === undefined ? '' : count(value)));
  return [
    service.padEnd(WIDTHS.service),
    what.padEnd(WIDTHS.what),
    ...numbers.map((text) => text.padStart(WIDTHS.number)),
    money(dollars),
    perMillion === undefined ? '' : money(perMillion),
  ].join('');
}

function total(title: string, ...sums: readonly number[]): string {
  return title.padEnd(WIDTHS.service + WIDTHS.what + 2 * WIDTHS.number) + sums.map(money).join('');
}

function other({ service, what, dollars }: PriceLine): string {
  return `${service.padEnd(26)}${what.padEnd(32)}${money(dollars)}`;
}

function money(dollars: number): string {
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  const text = (amount: number) => amount.toLocaleString('en-US', digits);
  return (dollars < MILLION ? text(dollars) : `${text(dollars / MILLION)} M`).padStart(WIDTHS.dollars);
}

/** Returns a number with at most nine digits, from a hundred million on in millions. */
function count(value: number): string {
  if (value >= 100 * MILLION) return `${count(value / MILLION)} M`;
  return Math.round(value).toLocaleString('en-US');
}

function duration(seconds: number): string {
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`;
}

function share(value: number): string {
  return `${Number((value * 100).toPrecision(3))}%`;
}

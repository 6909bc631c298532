import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { STAGES, stagePrice } from '../../../infra/cost/stage-price.ts';
import { PRICES, restLines, sumOf } from '../../../infra/plan/prices.ts';
import { readSettings } from '../../../infra/settings/settings.ts';
import { EXISTING, IAM } from '../synthesise.ts';

const read = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
const PAGE = read('docs/deploy.md');
const HANDLERS = 2;

/** Returns the price of a stage with two handlers and the settings of a cell such as `stage=prod standby=on`. */
function priceOf(cell: string): number {
  const given = [...cell.matchAll(/(\w+)=([\w-]+)/g)].map(([, name, value]) => [name, value] as const);
  return sumOf(stagePrice(Object.fromEntries(given), HANDLERS));
}

const stages = [...PAGE.matchAll(/^\| ([^|]+) \| ([^|]*=[^|]*) \| (\d+\.\d\d) \|$/gm)].map(
  ([, name = '', cell = '', price]) => [name, cell, price] as const,
);

it.each(stages)('the deploy page states the price of the stage "%s" with %s', (_name, cell, price) => {
  expect(priceOf(cell).toFixed(2)).toBe(price);
});

it('the deploy page compares whole stages', () => {
  expect(stages.map(([name]) => name.replace(' production', ''))).toEqual(Object.keys(STAGES));
});

it.each(Object.entries(STAGES))(
  '`npm run cost -- --stage %s` has the settings of the deploy page',
  (kind, settings) => {
    const [, , price] = stages.find(([name]) => name.split(' ')[0] === kind) ?? [];

    expect(sumOf(stagePrice(settings, HANDLERS)).toFixed(2)).toBe(price);
  },
);

it.each([
  ['a default stage costs at most $20', 'stage=dev', 20],
  ['a stage with a database of its own costs less than $2', 'database=existing', 2],
])('%s a month at rest, as the README states', (_what, cell, most) => {
  expect(priceOf(cell)).toBeLessThanOrEqual(most);
  expect(read('README.md')).toContain(`$${priceOf(cell).toFixed(2)}`);
});

it.each([
  ['`egress=nat`', PRICES.nat],
  ['`egress=endpoints`', 3 * PRICES.endpoint],
  ['`database=create`', PRICES.cluster],
  ['`database=small`', PRICES.instance],
  ['`dispatch=tick`', PRICES.tick],
  ['`dispatch=loop`', PRICES.loop],
  ['each handler', PRICES.polling],
  ['each handler', PRICES.mirroring],
  ['mirror', PRICES.mirror],
  ['mirror', PRICES.schedules],
  ['metrics in CloudWatch', PRICES.metric],
  ['dashboard', PRICES.dashboard],
  ['secrets', PRICES.secret],
])('the deploy page states the price of %s', (cell, price) => {
  const [row = ''] = PAGE.split('\n').filter((line) => line.startsWith(`| ${cell} | `));

  expect(row.split(/[ |;,:]+/)).toContain(Number.isInteger(price) ? String(price) : price.toFixed(2));
});

it('the deploy page states the price of all metrics of a stage, and of a job type', () => {
  const [row = ''] = PAGE.split('\n').filter((line) => line.startsWith('| metrics in CloudWatch | '));
  const without = priceOf('database=existing');
  const all = priceOf('database=existing metrics=on') - without;
  const byJobType = priceOf('database=existing metrics=on metricsByJobType=on') - without - all;

  expect(row).toContain(`at most ${all.toFixed(2)}, and ${(byJobType / HANDLERS).toFixed(2)} a job type`);
});

it.each([EXISTING, { database: 'create' }])(
  'a stage of which IAM authenticates the functions has one secret less: %j',
  (context) => {
    const price = (one: object) =>
      sumOf(restLines(readSettings({ stage: 'prod', ...one }), { handlers: 1, alarmMetrics: 1 }));
    const iam = context === EXISTING ? IAM : { ...context, databaseLogin: 'iam' };

    expect(price(context) - price(iam)).toBeCloseTo(PRICES.secret);
  },
);

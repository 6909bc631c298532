import { expect, it } from 'vitest';
import { computeCost } from '../../../infra/cost/compute-cost.ts';
import { costJson, costReport } from '../../../infra/cost/cost-report.ts';
import { stageTable, systemTable } from '../../../infra/cost/cost-tables.ts';
import { type CostOptions, readWork } from '../../../infra/cost/read-work.ts';
import { LAMBDA, sumOf } from '../../../infra/plan/prices.ts';
import { UNIT_PRICES } from '../../../infra/plan/unit-prices.ts';
import { readDocument, section } from '../../docs/documents.ts';

const optionsOf = (line = '') => readWork(line.split(' ').filter(Boolean)) as CostOptions;
const costOf = (line = '') => computeCost(optionsOf(line));
const dollarsOf = (line: string, service: string, what: RegExp) =>
  sumOf(costOf(line).jobs.filter((one) => one.service === service && what.test(one.what)));

it.each(['', '--jobs 1e9 --stage production --door api --failing 12.5% --duration 14m --memory 10240 --batch 7.5'])(
  'the report with the options "%s" fits in 80 columns and adds up',
  (line) => {
    const cost = costOf(line);

    const report = costReport(cost);

    expect(report.split('\n').filter((one) => one.length > 80 || /\d M\d/.test(one))).toEqual([]);
    expect(sumOf(cost.jobs) + sumOf(cost.atRest)).toBeCloseTo(cost.dollars.total, 6);
    expect(report).toMatch(/prices of 2026-\d\d to 2026-\d\d$/m);
  },
);

it('the JSON has the options, the requests, the lines and every price with its date and source', () => {
  const cost = costOf('--json');

  const parsed = JSON.parse(costJson(cost));

  expect(parsed).toMatchObject({ region: 'us-east-1', options: { jobs: 1_000_000 }, requests: { sends: 100_000 } });
  expect(parsed.dollars.total).toBeCloseTo(cost.dollars.total, 6);
  expect(parsed.jobs).toHaveLength(cost.jobs.length);
  expect(Object.keys(parsed.unitPrices)).toEqual(Object.keys(UNIT_PRICES));
});

it('each price has a month and a page of AWS', () => {
  for (const { dollars, unit, date, source } of Object.values(UNIT_PRICES)) {
    expect(dollars).toBeGreaterThan(0);
    expect(unit).toMatch(/^an? /);
    expect(date).toMatch(/^20\d\d-(0[1-9]|1[0-2])$/);
    expect(source).toMatch(/^aws\.amazon\.com\/[\w/-]+\/pricing$/);
  }
});

it('a million jobs in batches of ten cost 12 cents of SQS, and 1.20 dollars one by one', () => {
  expect(dollarsOf('', 'SQS', /./)).toBeCloseTo(0.12, 6);
  expect(dollarsOf('--batch 1', 'SQS', /./)).toBeCloseTo(1.2, 6);
});

it('jobs of a batch that compute are paid for one after another, and those that wait once', () => {
  const gbSeconds = (line: string) => costOf(line).jobs.find(({ what }) => what === 'handlers')?.gbSeconds;

  expect(gbSeconds('--jobs 10 --overhead 0s --duration 1s')).toBeCloseTo(0.25, 6);
  expect(gbSeconds('--jobs 10 --overhead 0s --duration 1s --work computes')).toBeCloseTo(2.5, 6);
});

it('the dispatcher costs nothing more for jobs with loop or tick, and in auto what its active hours add', () => {
  const active = (line: string) => dollarsOf(line, 'Lambda', /^dispatcher/);
  const [tick, loop] = ['tick', 'loop'].map((mode) => costOf(`--mode ${mode}`));

  expect(active('--mode loop') + active('--mode tick')).toBe(0);
  expect(tick!.dollars.atRest).toBeLessThan(loop!.dollars.atRest);
  expect(active('--mode auto')).toBeCloseTo(loop!.dollars.atRest - tick!.dollars.atRest, 6);
  expect(active('--active-hours 12')).toBeCloseTo(active('') / 2, 6);
});

it('the API adds its requests, and at most one nudge of the dispatcher a second', () => {
  const nudges = (line: string) => costOf(line).jobs.find(({ what }) => /nudges/.test(what))?.requests ?? 0;

  expect(dollarsOf('--door api', 'API Gateway', /./)).toBeCloseTo(1, 6);
  expect(dollarsOf('--door api --per-request 100', 'API Gateway', /./)).toBeCloseTo(0.01, 6);
  expect(nudges('--door api --jobs 1000')).toBeCloseTo(1000, 0);
  expect(nudges('--door api --jobs 1e9')).toBeLessThan(730 * 3600);
  expect(nudges('')).toBe(0);
});

it('failing attempts add attempts, and deaths add deliveries', () => {
  const { requests } = costOf('--jobs 1000 --failing 50% --attempts 2');

  expect(requests).toMatchObject({ attempts: 1500, deaths: 250, refusals: 1000, visibilities: 1250 });
});

it('a worker costs the same until it is busy', () => {
  const worker = (line: string) => costOf(line).elsewhere.find(({ service }) => /Fargate/.test(service))?.dollars ?? 0;

  expect(worker('--jobs 1')).toBeCloseTo(10.86, 2);
  expect(worker('--jobs 1e8')).toBeCloseTo(worker('--jobs 1'), 6);
  expect(worker('--jobs 1e9')).toBeCloseTo(8 * worker('--jobs 1'), 6);
});

it('a job of more than five minutes has no express workflow', () => {
  const systems = (line: string) => costOf(line).elsewhere.map(({ service }) => service);

  expect(systems('--duration 5m')).toContain('Step Functions, express');
  expect(systems('--duration 301s')).not.toContain('Step Functions, express');
});

it('the README and docs/cost.md have the tables that the command prints', () => {
  const options = optionsOf('--markdown');

  expect(section(readDocument('README.md'), 'Cost').text).toContain(stageTable(options));
  expect(readDocument('docs/cost.md').text).toContain(stageTable(options));
  expect(readDocument('docs/cost.md').text).toContain(systemTable(options));
});

it('docs/cost.md states what a million jobs and the API add', () => {
  const tick = (line: string) => costOf(`--mode tick ${line}`);
  const each = tick('').jobs.map(({ dollars }) => dollars.toFixed(2));
  const nudges = (line: string) => dollarsOf(`--door api ${line}`, 'Lambda', /nudges/);
  const api = tick('--door api').dollars.jobs - tick('').dollars.jobs - nudges('');
  const mostNudges = nudges('--jobs 1e9');

  const text = readDocument('docs/cost.md').text.replace(/\s+/g, ' ');

  expect(text).toContain(
    `costs ${tick('').dollars.jobs.toFixed(2)} more: ${each[0]} for SQS, ${each[1]} for Lambda and ${each[2]}`,
  );
  expect(text).toContain(`(\`--batch 1\`), it is ${tick('--batch 1').dollars.jobs.toFixed(2)}.`);
  expect(text).toContain(`adds ${api.toFixed(2)} a million`);
  expect(text).toContain(`up to ${mostNudges.toFixed(2)} a month for nudges`);
  expect(text).toContain(`up to ${LAMBDA.loop.dollars.toFixed(2)} while there are jobs`);
});

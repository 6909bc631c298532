import { computeCost } from './compute-cost.ts';
import type { CostOptions } from './read-work.ts';
import { STAGES, type StageKind } from './stage-price.ts';

/** Factors of the jobs in the columns of the tables. */
const FACTORS = [1, 10];
const KINDS = Object.keys(STAGES) as StageKind[];

/** Returns the two tables of the documentation as Markdown, for these options and for ten times as many jobs. */
export function costTables(options: CostOptions): string {
  return `${stageTable(options)}\n\n${systemTable(options)}`;
}

/** What each kind of stage costs, at rest and with jobs. */
export function stageTable(options: CostOptions): string {
  const rows = KINDS.map((stage) => {
    const costs = columns({ ...options, stage });
    return [stage, dollars(costs[0]?.dollars.atRest), ...costs.map(({ dollars: { total } }) => dollars(total))];
  });
  return table(['stage', 'at rest', ...headings(options)], rows);
}

/** What the same jobs cost in other systems, without a database and logs. */
export function systemTable(options: CostOptions): string {
  const costs = columns(options);
  const ours = ['Millrace', 'a share of a batch', ...costs.map((cost) => dollars(cost.dollars.comparable))];
  const others = (costs[0]?.elsewhere ?? []).map(({ service, what }, index) => [
    service,
    what.replace(/^\d+ tasks? of/, 'tasks of'),
    ...costs.map((cost) => dollars(cost.elsewhere[index]?.dollars)),
  ]);
  return table(['system', 'for each job', ...headings(options)], [ours, ...others]);
}

function columns(options: CostOptions) {
  return FACTORS.map((factor) => computeCost({ ...options, jobs: factor * options.jobs }));
}

function headings({ jobs }: CostOptions): string[] {
  return FACTORS.map((factor) => `${(factor * jobs).toLocaleString('en-US')} jobs`);
}

function dollars(amount = 0): string {
  return amount.toFixed(2);
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(heads), `|${'---|'.repeat(heads.length)}`, ...rows.map(line)].join('\n');
}

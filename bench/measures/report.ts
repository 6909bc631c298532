import { type Contender, nameOf } from '../contenders/contender.ts';
import { PHASES, type PhaseCosts } from '../phases.ts';
import { type Cost, median } from './meter.ts';

/** What the jobs of one contender cost. */
export interface Measured {
  readonly contender: Contender;
  readonly cost: Cost;
  /** Rows that vacuum had not yet removed at the end. */
  readonly deadTuples: number;
}

const COST_HEADS = ['jobs/s', 'CPU ms/job', 'Node ms/job', 'WAL B/job', 'commits/job'];
const LABEL_WIDTH = 46;
const WIDTH = 13;

/** Formats one line per contender: jobs per second, and the cost of a job. */
export function table(title: string, rows: readonly Measured[], jobs: number): string {
  const lines = rows.map(({ contender, cost, deadTuples }) =>
    line(nameOf(contender), [...numbers(cost, jobs), (deadTuples / jobs).toFixed(2)]),
  );
  return [line(title, [...COST_HEADS, 'dead/job']), ...lines].join('\n');
}

/** Formats one line per phase of the engine, from the costs of several runs. */
export function phaseTable(batch: number, runs: readonly PhaseCosts[], jobs: number): string {
  const rows = PHASES.map((phase) => [phase, median(runs.map((costs) => costs[phase]))] as const);
  return costTable(`phase by phase, batch ${batch}, 4 at once`, rows, jobs);
}

/** Formats one line per name. */
export function costTable(title: string, rows: readonly (readonly [string, Cost])[], jobs: number): string {
  return [line(title, COST_HEADS), ...rows.map(([name, cost]) => line(name, numbers(cost, jobs))), ''].join('\n');
}

function numbers({ seconds, cpuMs, nodeMs, walBytes, commits }: Cost, jobs: number): string[] {
  return [
    (jobs / seconds).toFixed(0),
    (cpuMs / jobs).toFixed(3),
    (nodeMs / jobs).toFixed(3),
    (walBytes / jobs).toFixed(0),
    (commits / jobs).toFixed(4),
  ];
}

/** Formats a label and right-aligned cells. */
export function line(label: string, cells: readonly string[]): string {
  return label.padEnd(LABEL_WIDTH) + cells.map((cell) => cell.padStart(WIDTH)).join('');
}

import { nameOf } from '../contenders/contender.ts';
import type { RunRow } from '../result.ts';
import type { Cost } from './meter.ts';

const COST_HEADS = ['jobs/s', 'CPU ms/job', 'Node ms/job', 'WAL B/job', 'commits/job'];
const LABEL_WIDTH = 46;
const WIDTH = 13;

/** Formats one line per contender: jobs per second, and the cost of a job. */
export function table(title: string, rows: readonly RunRow[], of: (row: RunRow) => Cost): string {
  const lines = rows.map((row) => {
    const dead = (row.deadTuples / row.jobs).toFixed(2);
    return line(nameOf(row), [...numbers(of(row), row.jobs), dead]);
  });
  return [line(title, [...COST_HEADS, 'dead/job']), ...lines].join('\n');
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

import type { Cost } from './meter.ts';

const HEADS = ['jobs/s', 'CPU ms/job', 'WAL B/job', 'commits/job'];
const LABEL_WIDTH = 36;
const WIDTH = 13;

/** Formats one line per label: jobs per second, and the cost of a job. */
export function table(title: string, rows: readonly (readonly [string, Cost])[], jobs: number): string {
  const lines = rows.map(([label, cost]) => line(label, numbers(cost, jobs)));
  return [line(title, HEADS), ...lines].join('\n');
}

function numbers({ seconds, cpuMs, walBytes, commits }: Cost, jobs: number): string[] {
  return [
    (jobs / seconds).toFixed(0),
    (cpuMs / jobs).toFixed(3),
    (walBytes / jobs).toFixed(0),
    (commits / jobs).toFixed(4),
  ];
}

/** Formats our numbers as multiples of theirs: above 1 is more. */
export function ratios(title: string, rows: readonly (readonly [string, Cost, Cost])[]): string {
  const lines = rows.map(([label, ours, theirs]) =>
    line(label, [
      (theirs.seconds / ours.seconds).toFixed(2),
      (ours.cpuMs / theirs.cpuMs).toFixed(2),
      (ours.walBytes / theirs.walBytes).toFixed(2),
      (ours.commits / theirs.commits).toFixed(2),
    ]),
  );
  return [line(title, HEADS), ...lines].join('\n');
}

function line(label: string, cells: readonly string[]): string {
  return label.padEnd(LABEL_WIDTH) + cells.map((cell) => cell.padStart(WIDTH)).join('');
}

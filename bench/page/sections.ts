import { barsOf, isMet } from '../bars.ts';
import { nameOf } from '../contenders/contender.ts';
import { type Cost, sum } from '../measures/meter.ts';
import type { Answers, LatencyRow, Result, RunRow, TestDatabaseResult } from '../result.ts';
import { sizeOf } from './plots.ts';

const COSTS = ['jobs/s', 'CPU ms/job', 'Node ms/job', 'WAL B/job', 'commits/job'];
const MISSING = 'Not measured yet.';

/** Returns the Markdown of all results, from the bars to the local stack. */
export function resultSections(result: Result): string {
  return [
    origin(result),
    `### Bars\n\n${barTable(result)}`,
    section('Throughput', 'throughput', result.throughput && throughputTables(result.throughput)),
    section('Single inserts', 'singles', result.singles && singlesTable(result.singles)),
    section('Latency', 'latency', result.latency && latencyTable(result.latency)),
    section('Failing jobs', 'failing', result.failing && failingTable(result.failing)),
    section('Large payloads', 'payloads', result.payloads && payloadTables(result.payloads)),
    section('Phases', undefined, result.phases && phaseTable(result.phases)),
    section('The local stack', undefined, result.stack && stackTable(result.stack)),
    section('Loading', undefined, loading(result)),
  ].join('\n\n');
}

/** Returns a table with a row for each bar; those that the answers lack are not measured yet. */
export function barTable(answers: Answers): string {
  const rows = barsOf(answers).map((one) => {
    const { label, measured, sign, bar } = one;
    const figures =
      measured === undefined ? ['', 'not measured yet'] : [short(measured), isMet(one) ? 'met' : 'not met'];
    return [label, `${sign === '>=' ? 'at least' : 'at most'} ${bar}`, ...figures];
  });
  return table(['ours : theirs, or ours', 'bar', 'measured', ''], rows);
}

function origin({ date, commit, command, machine, jobs, runs, pinned }: Result): string {
  const { processors, memoryGb, system, node, postgres, settings, load } = machine;
  const open = pinned ? ', with a transaction open all the time' : '';
  return [
    `${date}, commit \`${commit}\`: \`${command}\`.`,
    `${jobs} jobs, median of ${runs} run${runs === 1 ? '' : 's'}${open}.`,
    `${processors}, ${memoryGb} GB, ${system}, Node ${node}, Postgres ${postgres} (${settings}),`,
    `load ${load.join(' at the beginning and ')} at the end.`,
  ].join('\n');
}

function section(heading: string, plot: string | undefined, body: string | undefined): string {
  const image = plot === undefined ? '' : `![${heading}](performance/${plot}.svg)\n\n`;
  return `### ${heading}\n\n${body === undefined ? MISSING : image + body}`;
}

function throughputTables(rows: readonly RunRow[]): string {
  const all = ({ enqueue, drain }: RunRow) => sum([enqueue, drain]);
  return [
    runTable('claim to finished', rows, ({ drain }) => drain),
    runTable('enqueue', rows, ({ enqueue }) => enqueue),
    runTable('enqueue to finished', rows, all),
  ].join('\n\n');
}

function runTable(title: string, rows: readonly RunRow[], of: (row: RunRow) => Cost): string {
  const cells = rows.map((row) => [nameOf(row), ...costs(of(row), row.jobs), (row.deadTuples / row.jobs).toFixed(2)]);
  return table([title, ...COSTS, 'dead/job'], cells);
}

function singlesTable(rows: NonNullable<Answers['singles']>): string {
  const cells = rows.map((row) => [row.system, String(row.connections), ...costs(row.cost, row.jobs)]);
  return table(['system', 'connections', ...COSTS], cells);
}

function latencyTable(rows: readonly LatencyRow[]): string {
  const cells = rows.map(({ name, rate, jobs, unstarted, ...at }) => {
    return [name, ...[rate, jobs].map(String), ...[at.p50, at.p95, at.p99].map(short), String(unstarted)];
  });
  return table(['system', 'offered jobs/s', 'jobs', 'p50 ms', 'p95 ms', 'p99 ms', 'unstarted'], cells);
}

function failingTable(rows: NonNullable<Answers['failing']>): string {
  const cells = rows.map((row) => [`${row.share * 100} %`, nameOf(row), ...costs(row.drain, row.jobs)]);
  return table(['fail once', 'system', ...COSTS], cells);
}

function payloadTables(rows: NonNullable<Answers['payloads']>): string {
  const part = (title: string, of: (row: RunRow) => Cost) => {
    const cells = rows.map((row) => [sizeOf(row.bytes), String(row.jobs), row.system, ...costs(of(row), row.jobs)]);
    return table([`payload, ${title}`, 'jobs', 'system', ...COSTS], cells);
  };
  return [part('enqueue', ({ enqueue }) => enqueue), part('claim to finished', ({ drain }) => drain)].join('\n\n');
}

function phaseTable(rows: NonNullable<Answers['phases']>): string {
  const cells = rows.map(({ batch, phase, jobs, cost }) => [String(batch), phase, ...costs(cost, jobs)]);
  return table(['batch', 'phase', ...COSTS], cells);
}

function stackTable({ upSeconds, drains }: NonNullable<Answers['stack']>): string {
  const cells = drains.map(({ handler, jobsPerSecond, requestsPerJob, again }) => {
    return [handler, jobsPerSecond.toFixed(0), requestsPerJob.toFixed(3), String(again)];
  });
  const rows = table(['handler', 'jobs/s', 'SQS requests per job', 'attempted again'], cells);
  return `The stack starts in ${upSeconds.toFixed(1)} s.\n\n${rows}`;
}

function loading({ loadMs, testDatabase }: Answers): string | undefined {
  const lines = [
    ...(loadMs === undefined ? [] : [`A handler's bundle loads in ${loadMs.toFixed(0)} ms of processor time.`]),
    ...(testDatabase === undefined ? [] : [databaseLine(testDatabase)]),
  ];
  return lines.length === 0 ? undefined : lines.join('\n');
}

function databaseLine({ medianSeconds, firstSeconds }: TestDatabaseResult): string {
  return `\`openTestDatabase\` takes ${medianSeconds.toFixed(2)} s, and ${firstSeconds.toFixed(2)} s the first time.`;
}

function costs({ seconds, cpuMs, nodeMs, walBytes, commits }: Cost, jobs: number): string[] {
  const perJob = [cpuMs, nodeMs].map((ms) => (ms / jobs).toFixed(3));
  return [(jobs / seconds).toFixed(0), ...perJob, (walBytes / jobs).toFixed(0), (commits / jobs).toFixed(4)];
}

function short(value: number): string {
  return value.toFixed(value < 10 ? 2 : 0);
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const body = rows.map((cells) => `| ${cells.join(' | ')} |`);
  return [`| ${heads.join(' | ')} |`, `|${'---|'.repeat(heads.length)}`, ...body].join('\n');
}

import type { Contender } from './contenders/contender.ts';
import { nameOf } from './contenders/contender.ts';
import { graphileWorkers } from './contenders/graphile-worker.ts';
import { millrace } from './contenders/millrace.ts';
import { pgBoss } from './contenders/pg-boss.ts';
import type { Work } from './contenders/work.ts';
import { measureJobs, medianRun, type Sample, type World } from './measures/measure-jobs.ts';
import { costTable } from './measures/report.ts';
import type { CompareOptions } from './options.ts';
import type { FailingRow, PayloadRow, RunRow } from './result.ts';

const BATCH = 100;
const LANES = 4;
/** Shares of jobs that fail once. */
const SHARES = [0, 0.01, 0.2];
/** Sizes of a payload. */
const SIZES = [100, 10_000, 200_000];
/** Fewer jobs have large payloads, so that all together fit into memory. */
const MOST_BYTES = 100_000_000;

type Options = Pick<CompareOptions, 'jobs' | 'runs' | 'peers'>;

/** Measures jobs of which a share fails once, is retried without delay, and succeeds. */
export async function measureFailing(world: World, options: Options): Promise<FailingRow[]> {
  const rows: FailingRow[] = [];
  for (const share of SHARES) {
    const variant = { jobs: options.jobs, work: { bytes: 0, failing: share } };
    const measured = await measureVariant(world, options, variant);
    world.print(tableOf(`${share * 100} % fail once, claim to finished`, measured, ({ drain }) => drain));
    rows.push(...measured.map((row) => ({ ...row, share })));
  }
  return rows;
}

/** Measures jobs with payloads of several sizes. */
export async function measurePayloads(world: World, options: Options): Promise<PayloadRow[]> {
  const rows: PayloadRow[] = [];
  for (const bytes of SIZES) {
    const jobs = Math.min(options.jobs, MOST_BYTES / bytes);
    const measured = await measureVariant(world, options, { jobs, work: { bytes, failing: 0 } });
    world.print(tableOf(`payloads of ${bytes} bytes (${jobs} jobs), enqueue`, measured, ({ enqueue }) => enqueue));
    world.print(tableOf(`payloads of ${bytes} bytes, claim to finished`, measured, ({ drain }) => drain));
    rows.push(...measured.map((row) => ({ ...row, bytes })));
  }
  return rows;
}

/** Measures all systems alternately. */
async function measureVariant(
  world: World,
  { runs, peers }: Options,
  variant: { readonly jobs: number; readonly work: Work },
): Promise<RunRow[]> {
  const ours = [millrace(BATCH, LANES)];
  // One by one, graphile-worker takes several times as long.
  const graphile = graphileWorkers.filter(({ batch }) => batch !== undefined);
  const contenders = peers ? [...ours, pgBoss(BATCH, LANES), ...graphile] : ours;
  const samples = new Map<Contender, Sample[]>(contenders.map((contender) => [contender, []]));
  for (let run = 0; run < runs; run++) {
    for (const [contender, list] of samples) list.push(await measureJobs(world, contender, variant));
  }
  return [...samples].map(([contender, list]) => medianRun(contender, variant.jobs, list));
}

function tableOf(title: string, rows: readonly RunRow[], of: (row: RunRow) => RunRow['drain']): string {
  return costTable(
    title,
    rows.map((row) => [nameOf(row), of(row)] as const),
    rows[0]?.jobs ?? 0,
  );
}

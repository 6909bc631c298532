import type { PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { RedriveOperation } from '../../core/dead-letters/redrive-operation.ts';
import type { Engine } from '../backend/backend.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { interruptible } from '../screen/interrupt.ts';
import { toJson } from '../screen/json.ts';
import { count } from '../screen/progress.ts';
import { print, printPairs, say, sayError, suggest, warn } from '../screen/terminal.ts';
import { workOffRedrive } from '../work-off-redrive.ts';
import { type ExplainedJob, explainJobs, reportSkipped, skippedDocument } from './named-jobs.ts';

interface Asked {
  readonly filter: PinnedFilter;
  readonly limit: number | undefined;
  readonly rate: number | undefined;
  readonly json: boolean;
}

/** Begins a redrive, sees it to its end, and tells how it went. */
export async function runRedrive(engine: Engine, { filter, limit, rate, json }: Asked): Promise<ExitCode> {
  const { end, interrupted } = await interruptible(async (signal) => {
    const id = await engine.startRedrive(filter, { rate: rate ?? null, limit });
    const work = workOffRedrive({ engine, id, rate, interrupted: signal });
    const atEnd = await work.catch((error: unknown) => {
      say(`redrive ${id} is not at its end: the dispatcher goes on with it`);
      throw error;
    });
    return { end: atEnd, interrupted: signal.aborted };
  });
  const skipped = await findSkipped(engine, end, filter);
  tell(end, skipped, json);
  return report(end, skipped, interrupted);
}

/** Jobs that were named and that this redrive did not move, as they stand now. */
async function findSkipped(engine: Engine, { id }: RedriveOperation, { jobIds: ids = [] }: PinnedFilter) {
  if (ids.length === 0) return [];
  const moved = new Set(await engine.findMoved(id, ids));
  const rest = ids.filter((one) => !moved.has(one));
  return explainJobs(engine, rest);
}

function tell(end: RedriveOperation, skipped: readonly ExplainedJob[], json: boolean): void {
  const { id, status, done: moved, expected, skipped: left, ratePerSecond: rate } = end;
  if (json) {
    const named = { skipped: skipped.length, skipped_jobs: skippedDocument(skipped) };
    print(toJson({ redrive: id, status, moved, expected, left, rate, ...named }));
    return;
  }
  printPairs([
    ['redrive', id],
    ['moved', moved],
    ['skipped', skipped.length || null],
    ['left dead', left || null],
  ]);
}

function report(end: RedriveOperation, skipped: readonly ExplainedJob[], byUs: boolean): ExitCode {
  const { id, status, done, expected } = end;
  if (status === 'cancelled') {
    const by = byUs ? '' : ' by somebody else';
    sayError(`redrive ${id} is cancelled${by}: ${count(done)} of ${count(expected)} moved, and they stay moved`);
    return byUs ? EXIT.interrupted : EXIT.conflict;
  }
  suggest('npx millrace jobs list');
  if (skipped.length > 0) return reportSkipped(skipped, done);
  if (done < expected) warn(`${count(expected - done)} of ${count(expected)} were moved or given up by somebody else`);
  return done === 0 && expected > 0 ? EXIT.conflict : EXIT.done;
}

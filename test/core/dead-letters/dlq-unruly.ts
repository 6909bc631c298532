import { startRedrive } from '../../../core/dead-letters/redrive-operation.ts';
import { workOffOperations } from '../../../core/dispatch/work-off-operations.ts';
import { openLog } from '../../../core/log.ts';
import type { Database } from '../../../core/postgres/database.ts';
import { systemTime } from '../../../core/time.ts';
import { withQuery } from '../../support/with-query.ts';
import type { DeadLetterWorld } from './dead-letter-world.ts';

/** The next event. A number selects one of the existing objects, modulo their number. */
export type Step =
  | { readonly do: 'enqueue'; readonly count: number }
  | { readonly do: 'mend' | 'retry' | 'discard'; readonly pick: number }
  | { readonly do: 'advance'; readonly seconds: number }
  | { readonly do: 'redrive'; readonly rate: number | null }
  | { readonly do: 'receive and die' | 'run and die' | 'work off' | 'rescue' }
  | { readonly do: 'mirror' | 'mirror and die' | 'move task' | 'purge' | 'purge dead letters' };

/** Jobs that fail until a repair, in a world that interrupts every step. */
export interface UnrulyDeath {
  readonly ids: string[];
  /** The job id of each attempt that succeeded. */
  readonly effects: string[];
  take(step: Step): Promise<void>;
  /** Repairs all jobs, and then redrives only with move tasks until no unfinished job is left. */
  drain(): Promise<void>;
}

const MOST_ROUNDS = 40;
const log = openLog(() => undefined);

export function openUnrulyDeath(world: DeadLetterWorld): UnrulyDeath {
  const { engine, sqs, work } = world;
  const { db } = engine;
  const ids: string[] = [];
  const effects: string[] = [];
  const mended = new Set<string>();
  let draining = false;
  let dying = false;

  engine.work = ({ jobId }) => {
    if (!draining && !mended.has(jobId)) throw new Error('not mended');
    if (!dying) effects.push(jobId);
  };

  const on = async (pick: number, act: (id: string) => unknown) => {
    const id = ids[pick % Math.max(1, ids.length)];
    if (id !== undefined) await act(id);
  };

  /** The process dies after its attempts, before it settles them. */
  const runAndDie = async () => {
    const records = await world.take();
    const query = (async (text, values) => {
      if (engine.runs.length > before) throw new Error('the process died');
      return db.query(text, values);
    }) as Database['query'];
    const before = engine.runs.length;
    dying = true;
    await world.handle('work', records, { keep: true, deps: { db: withQuery(db, query) }, remainingMs: oneTry() });
    dying = false;
  };

  const purge = async (QueueUrl: string) => {
    // SQS accepts one purge a minute.
    await world.advance(61);
    await sqs.purgeQueue({ QueueUrl });
  };

  const take = async (step: Step): Promise<void> => {
    switch (step.do) {
      case 'enqueue':
        for (let n = 0; n < step.count; n++) ids.push(await engine.enqueue());
        return;
      case 'mend':
        return on(step.pick, (id) => mended.add(id));
      case 'retry':
        return on(step.pick, (id) => engine.sql('select millrace.retry($1)', [id]));
      case 'discard':
        return on(step.pick, (id) => engine.sql('delete from millrace.failed_jobs where job_id = $1', [id]));
      case 'advance':
        return world.advance(step.seconds);
      case 'redrive':
        await startRedrive(db, {}, { rate: step.rate });
        return;
      case 'receive and die':
        await world.dispatch();
        await world.take();
        return;
      case 'run and die':
        await world.dispatch();
        return runAndDie();
      case 'work off':
        await workOffOperations({ db, log, time: systemTime });
        return world.workOff();
      case 'rescue':
        await engine.rescue();
        return;
      case 'mirror':
        return world.mirror();
      case 'mirror and die':
        return world.mirror({ makeVisible: () => Promise.reject(new Error('the mirror died')) });
      case 'move task':
        await world.moveTask();
        return;
      case 'purge':
        return purge(work.queueUrl);
      case 'purge dead letters':
        return purge(work.deadLetterQueueUrl);
    }
  };

  const drain = async () => {
    draining = true;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      // A carrier is sent after two sweeps that started well after a move task have missed a message.
      for (let n = 0; n < 3; n++) {
        await world.advance(3600);
        await world.mirror();
      }
      await world.moveTask();
      await engine.rescue();
      await workOffOperations({ db, log, time: systemTime });
      await world.workOff();
      const [left] = await engine.sql<{ n: number }>('select count(*)::integer as n from millrace.jobs_live');
      if (left?.n === 0) return;
    }
  };
  return { ids, effects, take, drain };
}

/** Time for the steps before the attempts and for one settle. */
function oneTry(): () => number {
  let asked = 0;
  return () => (asked++ === 0 ? 600_000 : 900);
}

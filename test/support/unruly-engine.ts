import { foldEvents, foldTimings } from '../../core/dispatch/fold-events.ts';
import { applyCancelRequests } from '../../core/jobs/cancel.ts';
import { releaseUnconfirmed } from '../../core/jobs/release.ts';
import type { SqsRecord } from '../../core/run/sqs-event.ts';
import { type Engine, QUEUE } from './database-engine.ts';
import type { Fate } from './memory-queues.ts';
import { type Death, endWith, OUTCOMES, type Outcome, type Step } from './unruly-steps.ts';
import { withQuery } from './with-query.ts';

const START = 'millrace.start_jobs(';
const READ_FINISHED = 'select id from millrace.jobs_finished';

const never = <T>() => new Promise<T>(() => undefined);

/** An engine whose runs wait until a step ends them, whose processes die, and whose messages arrive in any order. */
export interface Unruly {
  readonly ids: string[];
  /** Jobs that ran although their final outcome was already recorded. */
  readonly wronglyRun: string[];
  take(step: Step): Promise<void>;
  /** Runs without faults until every job has ended or is dead. */
  drain(): Promise<void>;
  /** Ends every run that still waits, as if its process had been frozen. */
  endAll(): Promise<void>;
}

interface Process {
  dead: boolean;
  statements: number;
}

interface Open {
  readonly end: (outcome: Outcome) => void;
  readonly kill: () => void;
}

export function openUnruly(engine: Engine): Unruly {
  const ids: string[] = [];
  const wronglyRun: string[] = [];
  const seen: SqsRecord[] = [];
  let open: Open[] = [];
  let batches: Promise<unknown>[] = [];
  let draining = false;

  /** Waits until the batch ends, its process dies, or a run waits for a step. */
  const settled = async (batch: Promise<unknown>, process: Process) => {
    const before = open.length;
    let over = false;
    void batch.then(() => {
      over = true;
    });
    for (let polls = 0; polls < 500 && !over && !process.dead && open.length === before; polls++) await turn();
    for (let quiet = 0; quiet < 3; quiet++) await turn();
  };

  const runBatch = async (records: readonly SqsRecord[], dies: Death | null) => {
    if (records.length === 0) return;
    seen.push(...records);
    const process: Process = { dead: false, statements: 0 };
    let finished = new Set<string>();
    const query: typeof engine.db.query = async (text, values) => {
      const last = dies !== null && ++process.statements === dies.at;
      if (last && !dies.done) process.dead = true;
      if (process.dead) return never();
      // Read before the start: an end between the start and the run is allowed.
      if (text.includes(START)) finished = new Set((await engine.sql(READ_FINISHED)).map(({ id }) => String(id)));
      const answer = await engine.db.query(text, values);
      if (last) process.dead = true;
      return process.dead ? never() : (answer as never);
    };
    const work = (jobId: string) => {
      if (finished.has(jobId)) wronglyRun.push(jobId);
      if (draining) return undefined;
      return new Promise<unknown>((resolve, reject) => {
        const entry: Open = {
          end: (outcome) => endWith(outcome, resolve, reject),
          kill: () => {
            process.dead = true;
          },
        };
        open.push(entry);
      });
    };
    engine.work = ({ jobId }) => work(jobId);
    const time = { now: () => 0, sleep: (ms: number, signal?: AbortSignal) => (signal ? aborted(signal) : turn(ms)) };
    const batch = engine.run(records, { deps: { db: withQuery(engine.db, query), time }, remainingMs: () => 600_000 });
    batches.push(batch);
    await settled(batch, process);
  };

  const dispatch = async (fates: readonly Fate[], dies: string) => {
    let sent = 0;
    engine.queues.fate = () => fates[sent++ % fates.length] ?? 'sent';
    engine.queues.hook = (moment) => {
      if (moment === dies) throw new Error(`the dispatcher died ${moment}`);
    };
    await engine.dispatch().catch(() => undefined);
    Object.assign(engine.queues, { fate: () => 'sent', hook: () => undefined });
  };

  const maintain = async () => {
    await engine.rescue();
    await releaseUnconfirmed(engine.db, 60);
    await applyCancelRequests(engine.db, 1000);
    await foldEvents(engine.db);
    await foldTimings(engine.db);
  };

  const onOpen = async (pick: number, act: (entry: Open) => void) => {
    const [entry] = open.splice(pick % Math.max(1, open.length), 1);
    if (entry === undefined) return;
    act(entry);
    for (let turns = 0; turns < 20; turns++) await turn();
  };

  const onJob = async (pick: number, text: string) => {
    const id = ids[pick % Math.max(1, ids.length)];
    if (id !== undefined) await engine.sql(text, [id]);
  };

  const unruly: Unruly = {
    ids,
    wronglyRun,
    take: async (step) => {
      switch (step.do) {
        case 'enqueue':
          for (let n = 0; n < step.count; n++) ids.push(await engine.enqueue({ maxAttempts: step.maxAttempts }));
          return;
        case 'dispatch':
          return dispatch(step.fates, step.dies);
        case 'receive':
          return runBatch(engine.queues.receive(QUEUE, step.most), step.dies);
        case 'deliver again':
          return runBatch(seen.length === 0 ? [] : [seen[step.pick % seen.length]!], step.dies);
        case 'copy':
          if (seen.length > 0) engine.queues.put(QUEUE, seen[step.pick % seen.length]!.body);
          return;
        case 'end':
          return onOpen(step.pick, (entry) => entry.end(step.outcome));
        case 'kill':
          return onOpen(step.pick, (entry) => entry.kill());
        case 'advance':
          return engine.advance(step.seconds);
        case 'cancel':
          return onJob(step.pick, 'select millrace.cancel($1)');
        case 'retry':
          return onJob(step.pick, 'select millrace.retry($1)');
        case 'rescue':
        case 'maintain':
          return maintain();
        case 'show all':
          return engine.queues.showAll();
        case 'console redrive':
          return engine.queues.redriveAll(QUEUE);
        case 'purge':
          return engine.queues.purge();
      }
    },
    drain: async () => {
      draining = true;
      for (let round = 0; round < 30; round++) {
        await engine.advance(4_000);
        await maintain();
        await dispatch(['sent'], 'never');
        engine.queues.showAll();
        for (let n = 0; n < 4; n++) await runBatch(engine.queues.receive(QUEUE), null);
        const [left] = await engine.sql<{ n: number }>(
          "select count(*)::integer as n from millrace.jobs_live where status <> 'dead_letter' and job_type = 'work'",
        );
        if (left!.n === 0) return;
      }
    },
    endAll: async () => {
      const outcomes = [...OUTCOMES];
      for (const [n, entry] of open.entries()) entry.end(outcomes[n % outcomes.length]!);
      open = [];
      await Promise.race([Promise.all(batches), turns(100)]);
      batches = [];
    },
  };
  return unruly;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Waits for one turn of the event loop. */
function turn(_ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await turn();
}

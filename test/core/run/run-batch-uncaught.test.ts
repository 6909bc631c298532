import { expect, it } from 'vitest';
import { systemTime } from '../../../core/time.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { type Kind, optionsOf, runtime } from './uncaught-runtime.ts';

const engine = await openDatabaseEngine({ timeout: '14m' });
const never = () => new Promise<never>(() => undefined);

const read = (ids: string[]) => Promise.all(ids.map((id) => engine.state(id)));

/** Rescues jobs whose lease is over, so that a job that was left running counts as charged. */
async function rescueAll() {
  await engine.advance(10_000);
  await engine.rescue();
}

it.each<Kind>(['unhandledRejection', 'uncaughtException'])(
  'charges an %s to the job whose code raised it, and to no other job of the batch',
  async (kind) => {
    const { ids, records } = await engine.deliver(4);
    const { uncaught, raise, reported } = runtime();
    engine.work = async ({ jobId }) => {
      if (jobId === ids[0]) return 'done';
      if (jobId !== ids[2]) return never();
      await systemTime.sleep(5);
      raise(kind, 'not awaited');
      return never();
    };

    const ran = await engine.run(records, optionsOf(uncaught));
    await rescueAll();

    expect(await read(ids)).toMatchObject([
      { status: 'succeeded', attempts: 1, result: 'done' },
      { status: 'pending', attempts: 0, suspect: false },
      { status: 'failed', attempts: 1, suspect: true, last_error: 'not awaited' },
      { status: 'pending', attempts: 0, suspect: false },
    ]);
    expect(reported).toEqual([`${kind}: not awaited`]);
    expect(ran.exited).toBe(true);
  },
);

it('runs the other jobs again in the next batch, and the job at fault alone', async () => {
  const { ids, records } = await engine.deliver(3);
  const { uncaught, raise } = runtime();
  engine.work = async ({ jobId }) => {
    if (jobId === ids[0]) raise('unhandledRejection');
    return never();
  };
  await engine.run(records, optionsOf(uncaught));
  engine.queues.purge();
  engine.runs.length = 0;
  engine.work = () => undefined;
  await engine.advance(3600);
  await engine.dispatch();

  await engine.run(engine.queues.receive(QUEUE), optionsOf(uncaught));

  expect(engine.runs.at(-1)).toBe(ids[0]);
  expect(await read(ids)).toMatchObject([
    { status: 'succeeded', attempts: 2 },
    { status: 'succeeded', attempts: 1 },
    { status: 'succeeded', attempts: 1 },
  ]);
});

it('makes the job at fault a dead letter after its last attempt, and bounces its message', async () => {
  const { ids, records } = await engine.deliver(2, { maxAttempts: 1 });
  const { uncaught, raise } = runtime();
  engine.work = async ({ jobId }) => {
    if (jobId === ids[1]) raise('uncaughtException');
    return never();
  };

  const ran = await engine.run(records, optionsOf(uncaught));

  expect(await read(ids)).toMatchObject([
    { status: 'pending', attempts: 0 },
    { status: 'dead_letter', attempts: 1, suspect: true },
  ]);
  expect(ran.shown).toEqual([records[1]!.receiptHandle]);
});

it('charges a job that returned before its promise was rejected, unless its success is stored', async () => {
  const { ids, records } = await engine.deliver(2);
  const { uncaught, raise } = runtime();
  engine.work = async ({ jobId }) => {
    if (jobId === ids[0]) setImmediate(raise, 'unhandledRejection');
    return jobId === ids[0] ? 'forgot an await' : never();
  };

  await engine.run(records, optionsOf(uncaught));

  expect(await read(ids)).toMatchObject([
    { status: 'failed', attempts: 1, suspect: true },
    { status: 'pending', attempts: 0 },
  ]);
});

it.each([2, 3])(
  'charges no job of %i if the job at fault has succeeded, and runs each alone next time',
  async (count) => {
    const { ids, records } = await engine.deliver(count, { maxAttempts: 1 });
    const { uncaught, raise } = runtime();
    engine.work = async ({ jobId }) => {
      if (jobId !== ids[0]) return never();
      void eventually(async () => expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded' })).then(() =>
        raise('unhandledRejection'),
      );
      return 'done';
    };

    await engine.run(records, optionsOf(uncaught));
    await rescueAll();

    const [owner, ...others] = await read(ids);
    expect(owner).toMatchObject({ status: 'succeeded', attempts: 1 });
    for (const other of others) expect(other).toMatchObject({ status: 'pending', attempts: 0, suspect: true });
  },
);

it('charges all jobs that run for an error that no job raised', async () => {
  const { ids, records } = await engine.deliver(3);
  const { uncaught, raise } = runtime();
  engine.work = ({ jobId }) => (jobId === ids[0] ? 'done' : never());

  const running = engine.run(records, optionsOf(uncaught));
  await eventually(() => expect(engine.runs).toHaveLength(3));
  raise('uncaughtException', 'from nowhere');
  await running;

  const error = expect.stringMatching(/no known job.*from nowhere/);
  expect(await read(ids)).toMatchObject([
    { status: 'succeeded', attempts: 1 },
    { status: 'failed', attempts: 1, suspect: true, last_error: error },
    { status: 'failed', attempts: 1, suspect: true, last_error: error },
  ]);
});

it('ends a job that runs alone with its own error', async () => {
  const { ids, records } = await engine.deliver(1);
  const { uncaught, raise, reported } = runtime();
  engine.work = async () => {
    raise('unhandledRejection', 'alone');
    return never();
  };

  await engine.run(records, optionsOf(uncaught));

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'failed', attempts: 1, last_error: 'alone' });
  expect(reported).toEqual(['unhandledRejection: alone']);
});

it('charges a call of process.exit to its job, and exits after the others are settled', async () => {
  const { ids, records } = await engine.deliver(3);
  const { uncaught, source, reported } = runtime();
  engine.work = async ({ jobId }) => {
    if (jobId === ids[0]) return 'done';
    if (jobId === ids[1]) source.exit(3);
    return never();
  };

  await engine.run(records, optionsOf(uncaught));

  expect(await read(ids)).toMatchObject([
    { status: 'succeeded', attempts: 1 },
    { status: 'failed', attempts: 1, suspect: true, last_error: 'process.exit(3) was called' },
    { status: 'pending', attempts: 0 },
  ]);
  expect(reported).toEqual(['exit 3']);
});

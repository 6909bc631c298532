import { expect, it } from 'vitest';
import { runDispatcher, runOnce } from '../../../core/dispatch/dispatcher.ts';
import { Skip } from '../../../core/handler/chosen-outcome.ts';
import { openLog } from '../../../core/log.ts';
import { type Metrics, openMetrics } from '../../../core/numbers/emf.ts';
import { CLOUDWATCH_METRICS, CLOUDWATCH_NAMESPACE } from '../../../core/numbers/metric-table.ts';
import { systemTime } from '../../../core/time.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });

/** A log line in the embedded metric format. */
interface EmfLine {
  readonly _aws: {
    readonly Timestamp: number;
    readonly CloudWatchMetrics: [
      { Namespace: string; Dimensions: string[][]; Metrics: { Name: string; Unit: string }[] },
    ];
  };
  readonly [name: string]: unknown;
}

function record({ byJobType = true, stage = undefined as string | undefined } = {}): {
  metrics: Metrics;
  lines: EmfLine[];
} {
  const lines: EmfLine[] = [];
  const metrics = openMetrics(
    openLog((line) => lines.push(JSON.parse(line))),
    { byJobType, stage },
  );
  return { metrics, lines };
}

const published = (lines: readonly EmfLine[]) =>
  lines.flatMap((line) => line._aws.CloudWatchMetrics[0].Metrics.map(({ Name }) => [Name, line[Name], line.job_type]));

it('writes every name, unit and dimension of the table in the embedded metric format', () => {
  const { metrics, lines } = record();
  const values = Object.fromEntries(Object.keys(CLOUDWATCH_METRICS).map((name) => [name, 1]));

  metrics.put(values, 'work');

  const [line] = lines;
  const [directive] = line!._aws.CloudWatchMetrics;
  expect(directive.Namespace).toBe(CLOUDWATCH_NAMESPACE);
  expect(directive.Dimensions).toEqual([['service'], ['service', 'job_type']]);
  expect(Object.fromEntries(directive.Metrics.map(({ Name, Unit }) => [Name, Unit]))).toEqual(
    Object.fromEntries(Object.entries(CLOUDWATCH_METRICS).map(([name, { unit }]) => [name, unit])),
  );
  for (const name of [...directive.Dimensions.flat(), ...Object.keys(CLOUDWATCH_METRICS)])
    expect(line).toHaveProperty(name);
  expect(Math.abs(line!._aws.Timestamp - Date.now())).toBeLessThan(60_000);
});

it('separates the stages of an account', () => {
  const { metrics, lines } = record({ stage: 'prod' });

  metrics.put({ Enqueued: 1 });
  openMetrics(
    openLog((text) => lines.push(JSON.parse(text))),
    { byJobType: true },
  ).put({ Enqueued: 1 });

  expect(lines.map(({ service }) => service)).toEqual(['millrace-prod', 'millrace']);
});

it('prints nothing if publish is false', () => {
  const lines: string[] = [];

  openMetrics(
    openLog((line) => lines.push(line)),
    { publish: false, byJobType: true },
  ).put({ Enqueued: 1 }, 'work');

  expect(lines).toEqual([]);
});

it('omits job types if byJobType is false', () => {
  const { metrics, lines } = record({ byJobType: false });

  metrics.put({ Enqueued: 1 }, 'work');

  expect(lines[0]!._aws.CloudWatchMetrics[0].Dimensions).toEqual([['service']]);
  expect(lines[0]).not.toHaveProperty('job_type');
});

it('publishes job types after the fiftieth as other', () => {
  const { metrics, lines } = record();

  for (let n = 0; n < 60; n++) metrics.put({ Enqueued: 1 }, `type_${n}`);
  metrics.put({ Enqueued: 1 }, 'type_3');

  const names = lines.map(({ job_type }) => job_type);
  expect(new Set(names).size).toBe(51);
  expect([names[55], names[60]]).toEqual(['other', 'type_3']);
});

it('splits a long list into lines that CloudWatch accepts, and loses no value', () => {
  const { metrics, lines } = record();
  const many = Array.from({ length: 250 }, (_, n) => n);

  metrics.put({ Duration: many, WaitTime: many.slice(0, 10), DueJobs: 7 }, 'work');
  metrics.put({ Duration: [] }, 'work');

  expect(lines.map(({ Duration }) => (Duration as number[]).length)).toEqual([100, 100, 50]);
  expect(lines.flatMap(({ Duration }) => Duration)).toEqual(many);
  expect(lines.map((line) => line._aws.CloudWatchMetrics[0].Metrics.length)).toEqual([3, 1, 1]);
});

it('a batch publishes the wait times and durations of its jobs', async () => {
  const { metrics, lines } = record();
  const { records } = await engine.deliver(3);

  await engine.run(records, { deps: { metrics } });

  const [waits, runs] = ['WaitTime', 'Duration'].map((name) => lines.flatMap((line) => line[name] as number[]));
  expect([waits!.length, runs!.length]).toEqual([3, 3]);
  expect(Math.min(...waits!, ...runs!)).toBeGreaterThanOrEqual(0);
});

it('the dispatcher publishes every event once, and the age of the oldest due job without a due job', async () => {
  const { metrics, lines } = record();
  let runs = 0;
  engine.work = () => {
    runs += 1;
    throw runs < 3 ? new Error('no') : new Skip('nothing to do');
  };
  await engine.run((await engine.deliver(3)).records);
  const { db, queues } = engine;
  const deps = { db, queues, log: openLog(() => undefined), time: systemTime, random: Math.random, metrics };
  const settings = { mode: 'tick', pollIntervalMs: 10, windowMs: 1000 } as const;

  await runDispatcher(deps, settings);
  await runDispatcher(deps, settings);

  const of = (name: string) => published(lines).filter(([metric]) => metric === name);
  expect(of('Enqueued')).toEqual([['Enqueued', 3, 'work']]);
  expect(of('DeadLettered')).toEqual([['DeadLettered', 2, 'work']]);
  expect(of('Failed')).toEqual([['Failed', 2, 'work']]);
  expect(of('Skipped')).toEqual([['Skipped', 1, 'work']]);
  expect(of('OldestDueAge')).toEqual([
    ['OldestDueAge', 0, undefined],
    ['OldestDueAge', 0, undefined],
  ]);
});

it('a nudge publishes the messages that SQS did not accept', async () => {
  const { metrics, lines } = record();
  await engine.enqueue();
  await engine.enqueue();
  const { db } = engine;
  const send = async (_queueUrl: string, messages: readonly { id: string }[]) =>
    messages.map(({ id }) => ({ id, kind: 'refused' as const, reason: 'too many requests' }));
  const queues = { ...engine.queues, send };
  const deps = { db, queues, log: openLog(() => undefined), time: systemTime, random: Math.random, metrics };

  await runOnce(deps);

  expect(published(lines)).toEqual([['DispatchErrors', 2, undefined]]);
});

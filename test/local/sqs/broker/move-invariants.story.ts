import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ACTIONS } from '../../../../local/sqs/actions/table.ts';
import { type Broker, queueArn, queueUrl } from '../../../../local/sqs/broker/broker.ts';
import { openBroker } from '../../../../local/sqs/server.ts';

const QUEUES = ['first', 'second', 'dead', 'elsewhere'] as const;
type QueueName = (typeof QUEUES)[number];

/** A received message and its handle, which may no longer be the newest. */
interface Receipt {
  readonly queue: QueueName;
  readonly handle: string;
  readonly body: string;
}

interface Run {
  broker: Broker;
  readonly file: string;
  now: number;
  sent: number;
  readonly receipts: Receipt[];
  /** Bodies of the messages that must exist, once each. */
  readonly expected: Set<string>;
}

type Step = (run: Run) => Promise<void>;
type Answer = Record<string, unknown>;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sqs-moves-'));
});
afterAll(() => rm(folder, { recursive: true }));
// Only the steps of move tasks use the fake timers.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** Runs an action; undefined if it was refused, which must change nothing. */
async function request({ broker }: Run, name: string, input: object): Promise<Answer | undefined> {
  const connection = { onGone: () => undefined };
  try {
    return (await ACTIONS.get(name)!(broker, { ...input }, connection)) as Answer;
  } catch (error) {
    expect((error as Error).name).toBe('SqsError');
    return undefined;
  }
}

const url = ({ broker }: Run, queue: QueueName) => queueUrl(broker, queue);
const arn = ({ broker }: Run, queue: QueueName) => queueArn(broker, queue);

const send =
  (queue: QueueName): Step =>
  async (run) => {
    run.sent += 1;
    const body = `m${run.sent}`;
    await request(run, 'SendMessage', { QueueUrl: url(run, queue), MessageBody: body });
    run.expected.add(body);
  };

const receive =
  (queue: QueueName, VisibilityTimeout: number): Step =>
  async (run) => {
    const input = { QueueUrl: url(run, queue), MaxNumberOfMessages: 3, VisibilityTimeout };
    const answer = await request(run, 'ReceiveMessage', input);
    for (const one of (answer?.Messages ?? []) as { ReceiptHandle: string; Body: string }[]) {
      run.receipts.push({ queue, handle: one.ReceiptHandle, body: one.Body });
    }
  };

const withReceipt =
  (pick: number, act: (run: Run, receipt: Receipt) => Promise<void>): Step =>
  async (run) => {
    const receipt = run.receipts[pick % Math.max(1, run.receipts.length)];
    if (receipt !== undefined) await act(run, receipt);
  };

const remove = (pick: number) =>
  withReceipt(pick, async (run, { queue, handle, body }) => {
    await request(run, 'DeleteMessage', { QueueUrl: url(run, queue), ReceiptHandle: handle });
    if (!allBodies(run).includes(body)) run.expected.delete(body);
  });

const hide = (pick: number, VisibilityTimeout: number) =>
  withReceipt(pick, async (run, { queue, handle }) => {
    const input = { QueueUrl: url(run, queue), ReceiptHandle: handle, VisibilityTimeout };
    await request(run, 'ChangeMessageVisibility', input);
  });

const startMove =
  (destination: QueueName | undefined, rate: number | undefined): Step =>
  async (run) => {
    const to = destination === undefined ? {} : { DestinationArn: arn(run, destination) };
    const at = rate === undefined ? {} : { MaxNumberOfMessagesPerSecond: rate };
    await request(run, 'StartMessageMoveTask', { SourceArn: arn(run, 'dead'), ...to, ...at });
  };

const cancel: Step = async (run) => {
  for (const { handle } of run.broker.tasks) await request(run, 'CancelMessageMoveTask', { TaskHandle: handle });
};

const wait =
  (ms: number): Step =>
  async (run) => {
    run.now += ms;
    vi.advanceTimersByTime(25);
  };

const restart: Step = async (run) => {
  run.broker.stopped = true;
  await run.broker.journal.close();
  vi.clearAllTimers();
  run.broker = await openBroker({ dataFile: run.file, clock: () => run.now });
};

const pick = fc.nat(100);
const queue = fc.constantFrom(...QUEUES);
const seconds = fc.constantFrom(0, 0, 1, 30);
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<QueueName>('first', 'first', 'second', 'dead').map(send) },
    { weight: 8, arbitrary: fc.tuple(queue, seconds).map(([name, hidden]) => receive(name, hidden)) },
    { weight: 2, arbitrary: pick.map(remove) },
    { weight: 2, arbitrary: fc.tuple(pick, seconds).map(([which, hidden]) => hide(which, hidden)) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.constantFrom<QueueName | undefined>(undefined, undefined, 'elsewhere'),
          fc.constantFrom(undefined, 20),
        )
        .map(([to, rate]) => startMove(to, rate)),
    },
    { weight: 1, arbitrary: fc.constant(cancel) },
    { weight: 5, arbitrary: fc.constantFrom(1, 25, 100, 5000).map(wait) },
    { weight: 1, arbitrary: fc.constant(restart) },
  ),
  { minLength: 100, maxLength: 250 },
);

async function begin(): Promise<Run> {
  const run = { now: 1_700_000_000_000, sent: 0, receipts: [], expected: new Set<string>() };
  const file = join(folder, `${randomUUID()}.sqlite`);
  const clock = () => started.now;
  const started: Run = { ...run, file, broker: await openBroker({ dataFile: file, clock }) };
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn(started, 'dead'), maxReceiveCount: 1 });
  for (const name of ['dead', 'elsewhere']) await request(started, 'CreateQueue', { QueueName: name });
  for (const name of ['first', 'second']) {
    await request(started, 'CreateQueue', { QueueName: name, Attributes: { RedrivePolicy } });
  }
  return started;
}

function allBodies({ broker }: Run): string[] {
  return [...broker.queues.values()].flatMap((one) => [...one.messages.values()].map(({ content }) => content.body));
}

function check(run: Run): void {
  expect(allBodies(run).sort()).toEqual([...run.expected].sort());
  for (const { counts, messages } of run.broker.queues.values()) {
    expect(counts.ready + counts.delayed + counts.inFlight).toBe(messages.size);
  }
  const active = run.broker.tasks.filter(({ status }) => status === 'RUNNING' || status === 'CANCELLING');
  expect(active.length).toBeLessThanOrEqual(1);
  for (const { moved, toMove } of run.broker.tasks) expect(moved).toBeLessThanOrEqual(toMove);
}

describe('queues whose dead letters are moved, in any order of operations and restarts', () => {
  it('contain every message that was not deleted, once', async () => {
    let [moved, restarts, deaths] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(steps, async (todo) => {
        const run = await begin();
        for (const step of todo) {
          await step(run);
          check(run);
          if (step === restart) restarts += 1;
        }
        moved += run.broker.tasks.reduce((sum, task) => sum + task.moved, 0);
        deaths += run.broker.queues.get('dead')?.messages.size ?? 0;
        run.broker.stopped = true;
        await run.broker.journal.close();
      }),
      { numRuns: 40 },
    );

    // Otherwise the generated steps have tested too little.
    expect(Math.min(moved, restarts, deaths)).toBeGreaterThan(10);
  });
});

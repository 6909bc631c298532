import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Message, newMessage } from '../../../../local/sqs/message/message.ts';
import type { Receipt } from '../../../../local/sqs/message/receipt-handle.ts';
import { advanceQueue, createQueue, putMessage, type Queue } from '../../../../local/sqs/queue/queue.ts';
import {
  changeVisibility,
  deleteMessage,
  receiveMessages,
  takeForMove,
  undoReceive,
} from '../../../../local/sqs/queue/queue-operations.ts';
import { readSettings } from '../../../../local/sqs/queue/queue-settings.ts';

/** A run of a queue and what must be true of it: where each message is, and who may still see it. */
interface Run {
  readonly queue: Queue;
  now: number;
  seq: number;
  readonly receipts: Receipt[];
  /** Until when each message received is hidden. */
  readonly hiddenUntil: Map<string, number>;
  readonly left: Set<string>;
}

type Step = (run: Run) => void;

const receive =
  (max: number, visibilityMs: number): Step =>
  (run) => {
    const { messages, dead } = receiveMessages(run.queue, { max, visibilityMs, now: run.now, deadLetters: true });
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    for (const { id, receipt } of messages) {
      expect(run.left.has(id)).toBe(false);
      expect(run.hiddenUntil.get(id) ?? 0).toBeLessThanOrEqual(run.now);
      run.hiddenUntil.set(id, run.now + visibilityMs);
      run.receipts.push({ messageId: id, receipt });
    }
    for (const { id } of dead) run.left.add(id);
  };

const send =
  (groupId: string | undefined, delayMs: number): Step =>
  (run) => {
    run.seq += 1;
    const content = { body: 'a', bodyMd5: '', attributes: {}, ...(groupId === undefined ? {} : { groupId }) };
    const message = newMessage({ seq: run.seq, id: `m${run.seq}` }, content, run.now, delayMs);
    putMessage(run.queue, message);
    if (delayMs > 0) run.hiddenUntil.set(message.id, run.now + delayMs);
  };

const withReceipt =
  (pick: number, act: (run: Run, receipt: Receipt) => void): Step =>
  (run) => {
    const receipt = run.receipts[pick % Math.max(1, run.receipts.length)];
    if (receipt !== undefined) act(run, receipt);
  };

const give = (pick: number, visibilityMs: number): Step =>
  withReceipt(pick, (run, receipt) => {
    try {
      changeVisibility(run.queue, receipt, visibilityMs, run.now);
      run.hiddenUntil.set(receipt.messageId, run.now + visibilityMs);
    } catch (error) {
      expect(String(error)).toMatch(/not in flight|not available/);
    }
  });

const undo = (pick: number): Step =>
  withReceipt(pick, (run, receipt) => {
    const message = run.queue.messages.get(receipt.messageId);
    const open = message?.state === 'inFlight' && message.receipt === receipt.receipt;
    undoReceive(run.queue, receipt, run.now);
    if (open) run.hiddenUntil.set(receipt.messageId, run.now);
  });

const remove = (pick: number): Step =>
  withReceipt(pick, (run, receipt) => {
    deleteMessage(run.queue, receipt, run.now);
    if (!run.queue.messages.has(receipt.messageId)) run.left.add(receipt.messageId);
  });

const move: Step = (run) => {
  const message = takeForMove(run.queue, run.now);
  if (message === undefined) return;
  expect(run.hiddenUntil.get(message.id) ?? 0).toBeLessThanOrEqual(run.now);
  run.left.add(message.id);
};

const wait =
  (ms: number): Step =>
  (run) => {
    run.now += ms;
  };

const pick = fc.nat(200);
const span = fc.constantFrom(0, 1, 5, 50);
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(fc.constantFrom(undefined, 'x', 'y'), span).map(([group, delay]) => send(group, delay)),
    },
    { weight: 4, arbitrary: fc.tuple(fc.integer({ min: 1, max: 10 }), span).map(([max, hide]) => receive(max, hide)) },
    { weight: 2, arbitrary: pick.map(remove) },
    { weight: 2, arbitrary: fc.tuple(pick, span).map(([which, ms]) => give(which, ms)) },
    { weight: 1, arbitrary: pick.map(undo) },
    { weight: 1, arbitrary: fc.constant(move) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 60 }).map(wait) },
  ),
  { minLength: 1, maxLength: 300 },
);

function start(): Run {
  const deadLetterTargetArn = 'arn:aws:sqs:us-east-1:000000000000:d';
  const settings = readSettings({ RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 4 }) }, false);
  const seed = { name: 'q', arn: 'arn:aws:sqs:us-east-1:000000000000:q', createdAt: 0, modifiedAt: 0, tags: {} };
  const queue = createQueue({ ...seed, settings, onChange: () => undefined });
  return { queue, now: 0, seq: 0, receipts: [], hiddenUntil: new Map(), left: new Set() };
}

function check({ queue, now, seq, left, hiddenUntil }: Run): void {
  advanceQueue(queue, now);
  for (const { id, state } of queue.messages.values())
    expect(state === 'ready').toBe((hiddenUntil.get(id) ?? 0) <= now);
  const states = [...queue.messages.values()].map((message: Message) => message.state);
  const count = (state: Message['state']) => states.filter((one) => one === state).length;
  expect(queue.counts).toEqual({ ready: count('ready'), delayed: count('delayed'), inFlight: count('inFlight') });
  expect(queue.messages.size + left.size).toBe(seq);
}

describe('a queue under any order of operations', () => {
  it('hides what is hidden, loses nothing, counts rightly, and empties in the end', () => {
    fc.assert(
      fc.property(steps, (todo) => {
        const run = start();
        for (const step of todo) {
          step(run);
          check(run);
        }
        run.now += 1000;
        // Four receives and the move to the dead-letter queue, ten at a time at most.
        for (let round = 0; round < 5 * run.seq; round += 1) receive(10, 0)(run);
        expect(run.queue.messages.size).toBe(0);
        expect(run.left.size).toBe(run.seq);
      }),
      { numRuns: 150 },
    );
  });
});

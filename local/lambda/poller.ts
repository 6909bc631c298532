import type { Message } from '@aws-sdk/client-sqs';
import { failedMessages } from './batch-response.ts';
import { fillBatch, LONG_POLL_SECONDS } from './fill-batch.ts';
import type { InvocationResult } from './invocation-result.ts';
import type { QueueClient } from './queue-client.ts';
import { retryDelayMs, retryThrottled, sleep } from './retry-throttled.ts';
import type { MappingSpec, RunnerEvent } from './specs.ts';
import { type SqsRecord, toEvents, toSqsRecord } from './sqs-record.ts';

const MOST_PER_RECEIVE = 10;
/** So many lanes keep asking when nothing comes. */
const IDLE_LANES = 1;
/** Some eight seconds, in which a server that was killed is back; what is not deleted runs again. */
const DELETE_ATTEMPTS = 8;
/** An answer under way when we stop brings messages that would be hidden from all until their visibility ends. */
const HANG_UP_MS = 100;

export interface PollerOptions {
  /** Read anew for each batch, so that an update holds from the next one on. */
  settings: () => MappingSpec;
  queues: QueueClient;
  invoke: (functionName: string, payload: string) => Promise<InvocationResult>;
  onEvent: (event: RunnerEvent) => void;
}

/**
 * Moves messages from a queue into a function. Each lane receives, invokes and deletes in turn, so that a batch is
 * never received without a free slot to run it; a lane that got something makes room for another one that asks.
 *
 * A batch that failed is left alone: its messages are visible again when their visibility ends, each with one receive
 * more. Lanes do not slow down for it, since Lambda does not where partial responses are switched on, and here they
 * always are. Only a function that cannot start, or is throttled, holds its lane back.
 */
export class Poller {
  readonly #options: PollerOptions;
  readonly #lanes = new Set<Promise<void>>();
  #stop = new AbortController();
  /** Ends the receives that still wait some time after the stop. */
  #hangUp = new AbortController();
  #hangUpTimer: NodeJS.Timeout | undefined;
  /** Lanes at work; counted apart, since two may end in one turn. */
  #open = 0;
  /** Lanes that are asking now. */
  #asking = 0;
  /** Failures since the last good receive, over all lanes. */
  #outage = 0;
  #failedInits = 0;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stop = new AbortController();
    clearTimeout(this.#hangUpTimer);
    if (this.#hangUp.signal.aborted) this.#hangUp = new AbortController();
    for (let lane = 0; lane < IDLE_LANES; lane += 1) this.#openLane();
  }

  /**
   * Asks no more; resolves when the batches at work are done. Started again before that, their lanes go on with it, so
   * that there are never more than the maximum.
   */
  async stop(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#hangUpTimer);
    this.#hangUpTimer = setTimeout(() => this.#hangUp.abort(), HANG_UP_MS);
    await Promise.all(this.#lanes);
  }

  #openLane(): void {
    this.#open += 1;
    const lane = this.#runLane();
    this.#lanes.add(lane);
    void lane.then(() => this.#lanes.delete(lane));
  }

  async #runLane(): Promise<void> {
    while (!this.#stop.signal.aborted && this.#open <= this.#options.settings().maximumConcurrency) {
      this.#asking += 1;
      const { messages, receivedAt } = await this.#collect();
      this.#asking -= 1;
      if (messages.length === 0 && this.#asking >= IDLE_LANES) break;
      if (messages.length === 0) continue;
      this.#makeRoom();
      await this.#process(messages, receivedAt);
    }
    this.#open -= 1;
  }

  #makeRoom(): void {
    const { maximumConcurrency } = this.#options.settings();
    if (!this.#stop.signal.aborted && this.#asking < IDLE_LANES && this.#open < maximumConcurrency) this.#openLane();
  }

  async #collect(): Promise<{ messages: Message[]; receivedAt: number }> {
    const { batchSize, windowSeconds } = this.#options.settings();
    const first = await this.#receive(batchSize, this.#outage > 0 ? 0 : LONG_POLL_SECONDS);
    const receivedAt = Date.now();
    const receive = (most: number, waitSeconds: number) => this.#receive(most, waitSeconds);
    const messages = await fillBatch(first, { batchSize, windowSeconds, receive, signal: this.#stop.signal });
    return { messages, receivedAt };
  }

  async #receive(most: number, waitSeconds: number): Promise<Message[]> {
    const { queueUrl } = this.#options.settings();
    const { signal } = this.#hangUp;
    const asked = Date.now();
    try {
      const messages = await this.#options.queues.receive(
        queueUrl,
        Math.min(most, MOST_PER_RECEIVE),
        waitSeconds,
        signal,
      );
      if (this.#outage > 0) this.#tell('poll-recovered', `receives from ${queueUrl} again`);
      this.#outage = 0;
      // A server that does not wait would have us ask without a break.
      if (messages.length === 0 && waitSeconds > 1 && Date.now() - asked < 1_000) await sleep(100, this.#stop.signal);
      return messages;
    } catch (error) {
      if (signal.aborted) return [];
      this.#fail(`cannot receive from ${queueUrl}: ${describe(error)}`);
      await sleep(retryDelayMs(this.#outage), this.#stop.signal);
      return [];
    }
  }

  async #process(messages: readonly Message[], receivedAt: number): Promise<void> {
    const { functionName, queueUrl, queueArn } = this.#options.settings();
    for (const { records, payload } of toEvents(messages.map((message) => toSqsRecord(message, queueArn)))) {
      // Once its messages are visible to others the batch is dropped, a receive spent without a run: throttling alone
      // can fill a dead-letter queue.
      const outcome = await retryThrottled({
        invoke: () => this.#options.invoke(functionName, payload),
        until: async () => receivedAt + (await this.#visibilityMs(queueUrl)),
        signal: this.#stop.signal,
      });
      if (outcome.kind === 'success') await this.#remove(succeeded(records, outcome.body));
      // A function that cannot start would otherwise burn the receives of the whole queue in seconds.
      this.#failedInits = outcome.kind === 'init-failed' ? this.#failedInits + 1 : 0;
      if (this.#failedInits > 0) await sleep(retryDelayMs(this.#failedInits), this.#stop.signal);
    }
  }

  async #visibilityMs(queueUrl: string): Promise<number> {
    try {
      return await this.#options.queues.visibilityMs(queueUrl);
    } catch (error) {
      this.#fail(`cannot read the visibility timeout of ${queueUrl}: ${describe(error)}`);
      return 0;
    }
  }

  async #remove(receiptHandles: readonly string[]): Promise<void> {
    for (let from = 0; from < receiptHandles.length; from += MOST_PER_RECEIVE) {
      await this.#removeBatch(receiptHandles.slice(from, from + MOST_PER_RECEIVE));
    }
  }

  async #removeBatch(receiptHandles: readonly string[]): Promise<void> {
    const { queueUrl } = this.#options.settings();
    let left = [...receiptHandles];
    let reason = 'refused';
    for (let attempt = 1; attempt <= DELETE_ATTEMPTS && left.length > 0; attempt += 1) {
      try {
        left = await this.#options.queues.remove(queueUrl, left);
      } catch (error) {
        reason = describe(error);
        await sleep(retryDelayMs(attempt), this.#stop.signal);
      }
    }
    if (left.length > 0) this.#fail(`cannot delete ${left.length} messages from ${queueUrl}: ${reason}`);
  }

  /** One line an outage, whatever fails in it. */
  #fail(message: string): void {
    this.#outage += 1;
    if (this.#outage === 1) this.#tell('poll-error', message);
  }

  #tell(kind: 'poll-error' | 'poll-recovered', message: string): void {
    this.#options.onEvent({ kind, functionName: this.#options.settings().functionName, message });
  }
}

function succeeded(records: readonly SqsRecord[], body: string): string[] {
  const ids = records.map(({ messageId }) => messageId);
  const failed = failedMessages(body, ids);
  return records.filter(({ messageId }) => !failed.has(messageId)).map(({ receiptHandle }) => receiptHandle);
}

function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return describe(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}

import type { Message } from '@aws-sdk/client-sqs';
import { failedMessages } from './batch-response.ts';
import { fillBatch, LONG_POLL_SECONDS } from './fill-batch.ts';
import type { InvocationResult } from './invocation-result.ts';
import type { QueueClient } from './queue-client.ts';
import { retryDelayMs, retryThrottled, sleep } from './retry-throttled.ts';
import type { MappingSpec, RunnerEvent } from './specs.ts';
import { type SqsRecord, toEvents, toSqsRecord } from './sqs-record.ts';

const MAX_PER_REQUEST = 10;
/** Number of lanes that keep polling an empty queue. */
const IDLE_LANES = 1;
/** About eight seconds, in which a killed server restarts; a message that is not deleted is delivered again. */
const DELETE_ATTEMPTS = 8;
/** Time to wait on stop for a receive in progress: its messages would be hidden until their visibility ends. */
const HANG_UP_MS = 100;

export interface PollerOptions {
  /** Called for each batch, so an update applies from the next batch on. */
  settings: () => MappingSpec;
  queues: QueueClient;
  invoke: (functionName: string, payload: string) => Promise<InvocationResult>;
  onEvent: (event: RunnerEvent) => void;
}

/**
 * Moves messages from a queue to a function. Each lane receives, invokes and deletes in turn, so a batch is only
 * received when a slot is free to run it. A lane that received messages opens another lane that polls.
 *
 * The messages of a failed batch become visible when their visibility timeout ends, each with one more receive.
 * Failures do not slow the lanes down: Lambda does not slow down with partial batch responses, which are always enabled
 * here. Only a function that cannot start, or is throttled, delays its lane.
 */
export class Poller {
  readonly #options: PollerOptions;
  readonly #lanes = new Set<Promise<void>>();
  #stop = new AbortController();
  /** Aborts receives that still wait some time after the stop. */
  #hangUp = new AbortController();
  #hangUpTimer: NodeJS.Timeout | undefined;
  /** Number of open lanes; counted separately from `#lanes`, because two may end in one turn of the event loop. */
  #open = 0;
  /** Number of lanes that are receiving. */
  #receiving = 0;
  /** Failures since the last successful receive, over all lanes. */
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
   * Stops receiving; resolves when the running batches have finished. If `start` is called before that, their lanes
   * continue, so the number of lanes never exceeds the maximum.
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
      this.#receiving += 1;
      const { messages, receivedAt } = await this.#collect();
      this.#receiving -= 1;
      if (messages.length === 0 && this.#receiving >= IDLE_LANES) break;
      if (messages.length === 0) continue;
      this.#makeRoom();
      await this.#process(messages, receivedAt);
    }
    this.#open -= 1;
  }

  #makeRoom(): void {
    const { maximumConcurrency } = this.#options.settings();
    if (!this.#stop.signal.aborted && this.#receiving < IDLE_LANES && this.#open < maximumConcurrency) this.#openLane();
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
    const begun = Date.now();
    try {
      const messages = await this.#options.queues.receive(
        queueUrl,
        Math.min(most, MAX_PER_REQUEST),
        waitSeconds,
        signal,
      );
      if (this.#outage > 0) this.#emit('poll-recovered', `can receive from ${queueUrl} again`);
      this.#outage = 0;
      // Avoids a busy loop with a server that does not support long polling.
      if (messages.length === 0 && waitSeconds > 1 && Date.now() - begun < 1_000) await sleep(100, this.#stop.signal);
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
      // When its messages become visible again the batch is dropped. That costs a receive without a run: throttling
      // alone can fill a dead-letter queue.
      const result = await retryThrottled({
        invoke: () => this.#options.invoke(functionName, payload),
        until: async () => receivedAt + (await this.#visibilityMs(queueUrl)),
        signal: this.#stop.signal,
      });
      if (result.kind === 'success') await this.#remove(succeeded(records, result.body));
      // A function that cannot start would otherwise use up the receives of the whole queue within seconds.
      this.#failedInits = result.kind === 'init-failed' ? this.#failedInits + 1 : 0;
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
    for (let from = 0; from < receiptHandles.length; from += MAX_PER_REQUEST) {
      await this.#removeBatch(receiptHandles.slice(from, from + MAX_PER_REQUEST));
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

  /** Reports one failure for each outage. */
  #fail(message: string): void {
    this.#outage += 1;
    if (this.#outage === 1) this.#emit('poll-error', message);
  }

  #emit(kind: 'poll-error' | 'poll-recovered', message: string): void {
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

import { setTimeout as sleep } from 'node:timers/promises';
import type { Children } from '../processes/children.ts';
import { FunctionPool } from './function-pool.ts';
import { type InvocationResult, throttled } from './invocation-result.ts';
import { retryThrottled } from './retry-throttled.ts';
import type { FunctionSpec, RunnerEvent } from './specs.ts';

/** Lambda waits one minute, then two, before it tries a failed asynchronous invocation again. */
const EVENT_RETRY_MS = [60_000, 120_000];
/** Six hours, then it drops an event that was throttled all the time. */
const LONGEST_EVENT_AGE_MS = 21_600_000;

export class FunctionNotFoundError extends Error {
  override readonly name = 'FunctionNotFoundError';
  readonly code = 'FUNCTION_NOT_FOUND';
}

export interface FunctionTableOptions {
  children: Children;
  region: string;
  accountId: string;
  onEvent: (event: RunnerEvent) => void;
  bootstrap?: string | undefined;
  eventRetryMs?: readonly number[];
}

/** The functions by name, each with its present pool; pools that were replaced finish what runs. */
export class FunctionTable {
  readonly #options: FunctionTableOptions;
  readonly #pools = new Map<string, FunctionPool>();
  readonly #retired = new Set<FunctionPool>();
  /** The most invocations at a time, where there is a limit; it outlives a replaced version. */
  readonly #reserved = new Map<string, number>();
  readonly #closing = new AbortController();

  constructor(options: FunctionTableOptions) {
    this.#options = options;
  }

  add(spec: FunctionSpec): void {
    if (this.#pools.has(spec.name)) throw new Error(`function ${spec.name} exists; replace it`);
    this.#pools.set(spec.name, this.#pool(spec));
    this.reserve(spec.name, spec.reservedConcurrency);
  }

  replace(spec: FunctionSpec): void {
    this.#retire(spec.name);
    this.#pools.set(spec.name, this.#pool(spec));
  }

  remove(name: string): void {
    this.#retire(name);
    this.#pools.delete(name);
    this.#reserved.delete(name);
  }

  get(name: string): FunctionSpec {
    return this.#find(name).spec;
  }

  /** Undefined: no limit. Throws if there is no such function. */
  reservedConcurrency(name: string): number | undefined {
    this.#find(name);
    return this.#reserved.get(name);
  }

  /** From now on; invocations at work finish. Throws if there is no such function. */
  reserve(name: string, concurrency: number | undefined): void {
    this.#find(name);
    if (concurrency === undefined) this.#reserved.delete(name);
    else this.#reserved.set(name, concurrency);
  }

  list(): FunctionSpec[] {
    return [...this.#pools.values()].map(({ spec }) => spec);
  }

  arn(name: string): string {
    return `arn:aws:lambda:${this.#options.region}:${this.#options.accountId}:function:${name}`;
  }

  /** `payload` is JSON text. Never throws; a function that is not there any more is an error like its own. */
  async invoke(name: string, payload: string, requestId?: string): Promise<InvocationResult> {
    const pool = this.#pools.get(name);
    if (pool) return this.#run(pool, payload, requestId);
    return { kind: 'error', error: { errorType: 'ResourceNotFoundException', errorMessage: this.#notFound(name) } };
  }

  /** As `Event`: nobody waits, and a failure is tried again as often as the function says. Throws if there is none. */
  invokeLater(name: string, payload: string, requestId?: string): void {
    const pool = this.#find(name);
    void this.#invokeWithRetries(pool, payload, requestId);
  }

  pids(name?: string): number[] {
    const pools = [...this.#pools.values(), ...this.#retired];
    return pools.filter(({ spec }) => name === undefined || spec.name === name).flatMap((pool) => pool.pids());
  }

  /** Keeps no environment and tries nothing again; resolves when what runs has finished. */
  async drain(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#pools.values(), ...this.#retired].map((pool) => pool.drain()));
  }

  /** Ends what runs. */
  kill(): void {
    for (const pool of [...this.#pools.values(), ...this.#retired]) pool.kill();
  }

  /** Refused when what is reserved for the function is at work, in versions that were replaced too. */
  async #run(pool: FunctionPool, payload: string, requestId?: string): Promise<InvocationResult> {
    const { name } = pool.spec;
    const reserved = this.#reserved.get(name);
    const pools = [...this.#pools.values(), ...this.#retired].filter(({ spec }) => spec.name === name);
    const running = pools.reduce((sum, one) => sum + one.running, 0);
    if (reserved !== undefined && running >= reserved) return throttled();
    return pool.invoke(payload, requestId);
  }

  async #invokeWithRetries(first: FunctionPool, payload: string, requestId?: string): Promise<void> {
    let outcome = await this.#runLater(first, payload, requestId);
    const delays = this.#options.eventRetryMs ?? EVENT_RETRY_MS;
    for (const delay of delays.slice(0, first.spec.eventRetries ?? 0)) {
      if (outcome.kind === 'success') return;
      await sleep(delay, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
      const pool = this.#pools.get(first.spec.name);
      if (this.#closing.signal.aborted || !pool) return;
      outcome = await this.#runLater(pool, payload, requestId);
    }
  }

  /** A throttled event waits for its turn. */
  #runLater(pool: FunctionPool, payload: string, requestId?: string): Promise<InvocationResult> {
    const end = Date.now() + LONGEST_EVENT_AGE_MS;
    return retryThrottled({
      invoke: () => this.#run(pool, payload, requestId),
      until: async () => end,
      signal: this.#closing.signal,
    });
  }

  #retire(name: string): void {
    const pool = this.#find(name);
    this.#retired.add(pool);
    void pool.drain().then(() => this.#retired.delete(pool));
  }

  #pool(spec: FunctionSpec): FunctionPool {
    const { children, region, onEvent, bootstrap } = this.#options;
    return new FunctionPool({ spec, functionArn: this.arn(spec.name), region, children, onEvent, bootstrap });
  }

  #find(name: string): FunctionPool {
    const pool = this.#pools.get(name);
    if (!pool) throw new FunctionNotFoundError(this.#notFound(name));
    return pool;
  }

  #notFound(name: string): string {
    return `Function not found: ${this.arn(name)}`;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Children } from '../processes/children.ts';
import { FunctionPool } from './function-pool.ts';
import { type InvocationResult, throttled } from './invocation-result.ts';
import { retryThrottled } from './retry-throttled.ts';
import type { FunctionSpec, RunnerEvent, RunningJobs } from './specs.ts';

/** Lambda retries a failed asynchronous invocation after one minute, then after two. */
const EVENT_RETRY_MS = [60_000, 120_000];
/** Lambda drops an event that was throttled for six hours. */
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

/** The functions by name, each with its current pool; replaced pools finish their running invocations. */
export class FunctionTable {
  readonly #options: FunctionTableOptions;
  readonly #pools = new Map<string, FunctionPool>();
  readonly #retired = new Set<FunctionPool>();
  /** Reserved concurrency by function; a limit also applies after the function is replaced. */
  readonly #reserved = new Map<string, number>();
  readonly #closing = new AbortController();

  constructor(options: FunctionTableOptions) {
    this.#options = options;
  }

  add(spec: FunctionSpec): void {
    if (this.#pools.has(spec.name)) throw new Error(`function ${spec.name} exists: replace it`);
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

  /** Returns the reserved concurrency; undefined means no limit. Throws if the function does not exist. */
  reservedConcurrency(name: string): number | undefined {
    this.#find(name);
    return this.#reserved.get(name);
  }

  /** Sets the reserved concurrency; running invocations finish. Throws if the function does not exist. */
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

  /** Invokes with `payload`, a JSON text. Never throws: the removal of the function is reported as a function error. */
  async invoke(name: string, payload: string, requestId?: string): Promise<InvocationResult> {
    const pool = this.#pools.get(name);
    if (pool) return this.#run(pool, payload, requestId);
    return { kind: 'error', error: { errorType: 'ResourceNotFoundException', errorMessage: this.#notFound(name) } };
  }

  /** Invokes as `Event`: without waiting, with the function's own retries. Throws if the function does not exist. */
  invokeLater(name: string, payload: string, requestId?: string): void {
    const pool = this.#find(name);
    void this.#invokeWithRetries(pool, payload, requestId);
  }

  pids(name?: string): number[] {
    const pools = this.#all().filter(({ spec }) => name === undefined || spec.name === name);
    return pools.flatMap((pool) => pool.pids());
  }

  /** Stops idle environments and retries; resolves when running invocations have finished. */
  async drain(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#all().map((pool) => pool.drain()));
  }

  /** Kills running environments. */
  kill(): void {
    for (const pool of this.#all()) pool.kill();
  }

  /** Kills the environments of functions that run no jobs. */
  killOthers(): void {
    for (const pool of this.#all()) if (pool.runningJobs().length === 0) pool.kill();
  }

  /** Returns the running invocations that received messages of jobs. */
  runningJobs(): RunningJobs[] {
    return this.#all().flatMap((pool) => pool.runningJobs());
  }

  #all(): FunctionPool[] {
    return [...this.#pools.values(), ...this.#retired];
  }

  /** Throttles at the reserved concurrency, which includes invocations of replaced versions. */
  async #run(pool: FunctionPool, payload: string, requestId?: string): Promise<InvocationResult> {
    const { name } = pool.spec;
    const reserved = this.#reserved.get(name);
    const pools = this.#all().filter(({ spec }) => spec.name === name);
    const running = pools.reduce((sum, one) => sum + one.running, 0);
    if (reserved !== undefined && running >= reserved) return throttled();
    return pool.invoke(payload, requestId);
  }

  async #invokeWithRetries(first: FunctionPool, payload: string, requestId?: string): Promise<void> {
    let result = await this.#runLater(first, payload, requestId);
    const delays = this.#options.eventRetryMs ?? EVENT_RETRY_MS;
    for (const delay of delays.slice(0, first.spec.eventRetries ?? 0)) {
      if (result.kind === 'success') return;
      await sleep(delay, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
      const pool = this.#pools.get(first.spec.name);
      if (this.#closing.signal.aborted || !pool) return;
      result = await this.#runLater(pool, payload, requestId);
    }
  }

  /** Invokes for an event, and retries while that is throttled. */
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

import { randomBytes, randomUUID } from 'node:crypto';
import type { Children } from '../processes/children.ts';
import { Environment } from './environment.ts';
import { type InvocationResult, summarize } from './invocation-result.ts';
import type { FunctionSpec, RunnerEvent } from './specs.ts';

/** Lambda gives an init ten seconds; one that fails or needs more starts again within the function's own timeout. */
const INIT_LIMIT_MS = 10_000;
const IDLE_LIMIT_MS = 60_000;
/** As many idle environments are kept however long nothing happens. */
const KEPT_IDLE = 2;

export interface PoolOptions {
  spec: FunctionSpec;
  functionArn: string;
  region: string;
  children: Children;
  onEvent: (event: RunnerEvent) => void;
  bootstrap?: string | undefined;
  initLimitMs?: number;
  idleLimitMs?: number;
}

/** The execution environments of one version of a function: started on demand, reused warm. */
export class FunctionPool {
  readonly spec: FunctionSpec;
  readonly #options: PoolOptions;
  readonly #all = new Set<Environment>();
  /** Oldest first; the newest is taken, so that what is too many grows old. */
  readonly #idle: { environment: Environment; since: number }[] = [];
  readonly #running = new Set<Promise<unknown>>();
  readonly #idleLimitMs: number;
  readonly #reaper: NodeJS.Timeout;
  #retired = false;
  #killed = false;

  constructor(options: PoolOptions) {
    this.spec = options.spec;
    this.#options = options;
    this.#idleLimitMs = options.idleLimitMs ?? IDLE_LIMIT_MS;
    this.#reaper = setInterval(() => this.#reap(), this.#idleLimitMs / 6).unref();
  }

  /** `payload` is JSON text. Never throws: what goes wrong is an outcome. */
  async invoke(payload: string, requestId: string = randomUUID()): Promise<InvocationResult> {
    const run = this.#invoke(payload, requestId);
    this.#running.add(run);
    const outcome = await run;
    this.#running.delete(run);
    this.#report(outcome, requestId);
    return outcome;
  }

  /** Invocations at work. */
  get running(): number {
    return this.#running.size;
  }

  pids(): number[] {
    return [...this.#all].flatMap(({ pid, alive }) => (alive && pid !== undefined ? [pid] : []));
  }

  /** No environment is kept any more; resolves when what runs has finished. */
  async drain(): Promise<void> {
    this.#retired = true;
    clearInterval(this.#reaper);
    for (const { environment } of this.#idle.splice(0)) this.#discard(environment);
    await Promise.all(this.#running);
  }

  /** Ends what runs, and what would start. */
  kill(): void {
    this.#killed = true;
    for (const environment of this.#all) environment.kill();
  }

  async #invoke(payload: string, requestId: string): Promise<InvocationResult> {
    const { spec, functionArn } = this.#options;
    const environment = await this.#acquire(requestId);
    if ('kind' in environment) return environment;
    const limitMs = spec.timeoutSeconds * 1000;
    const deadlineMs = Date.now() + limitMs;
    const outcome = await environment.run({ requestId, payload, deadlineMs, functionArn, traceId: traceId() }, limitMs);
    if (environment.alive && !this.#retired) this.#idle.push({ environment, since: Date.now() });
    else this.#discard(environment);
    return outcome;
  }

  /** A warm environment or a new one; or how the start failed. */
  async #acquire(requestId: string): Promise<Environment | InvocationResult> {
    for (let next = this.#idle.pop(); next; next = this.#idle.pop()) {
      if (next.environment.alive) return next.environment;
      this.#discard(next.environment);
    }
    const first = await this.#start(requestId, this.#options.initLimitMs ?? INIT_LIMIT_MS);
    if (!('kind' in first) || this.#killed) return asInit(first);
    return asInit(await this.#start(requestId, this.spec.timeoutSeconds * 1000));
  }

  async #start(requestId: string, limitMs: number): Promise<Environment | InvocationResult> {
    const { spec, children, region, onEvent, bootstrap } = this.#options;
    const environment = new Environment({
      ...{ children, region, bootstrap },
      functionName: spec.name,
      bundle: spec.bundle,
      memoryMb: spec.memoryMb,
      variables: spec.environment,
      onLog: (stream, message, id) =>
        onEvent({ kind: 'log', functionName: spec.name, message, stream, ...(id !== undefined && { requestId: id }) }),
    });
    this.#all.add(environment);
    if (this.#killed) environment.kill();
    const failure = await environment.start(requestId, limitMs);
    if (failure === undefined) return environment;
    this.#discard(environment);
    return failure;
  }

  #discard(environment: Environment): void {
    environment.kill();
    this.#all.delete(environment);
  }

  #reap(): void {
    const old = Date.now() - this.#idleLimitMs;
    while (this.#idle.length > KEPT_IDLE && (this.#idle[0]?.since ?? old) < old) {
      const next = this.#idle.shift();
      if (next) this.#discard(next.environment);
    }
  }

  #report(outcome: InvocationResult, requestId: string): void {
    if (outcome.kind === 'success' || outcome.kind === 'error' || outcome.kind === 'throttled' || this.#killed) return;
    const { name: functionName, timeoutSeconds, memoryMb } = this.spec;
    const messages = {
      timeout: () => `timed out after ${timeoutSeconds} s and was killed`,
      'out-of-memory': () => `used more than its ${memoryMb} MB and was killed`,
      exit: () => outcome.error.errorMessage.replace(/^RequestId: \S+ Error: /, ''),
      'init-failed': () => summarize(outcome.error),
    };
    this.#options.onEvent({ kind: outcome.kind, functionName, message: messages[outcome.kind](), requestId });
  }
}

function asInit(result: Environment | InvocationResult): Environment | InvocationResult {
  if (!('kind' in result) || !('error' in result)) return result;
  return { kind: 'init-failed', error: result.error };
}

function traceId(): string {
  const seconds = Math.floor(Date.now() / 1000).toString(16);
  return `Root=1-${seconds}-${randomBytes(12).toString('hex')};Parent=${randomBytes(8).toString('hex')};Sampled=0`;
}

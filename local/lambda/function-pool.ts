import { randomBytes, randomUUID } from 'node:crypto';
import { decodeMessage } from '../../core/aws/message.ts';
import type { Children } from '../processes/children.ts';
import { Environment } from './environment.ts';
import { endLines, type InvocationResult, summarize } from './invocation-result.ts';
import { parseJson } from './parse-json.ts';
import type { FunctionSpec, RunnerEvent, RunningJobs } from './specs.ts';

/**
 * Lambda limits an init to ten seconds; an init that fails or takes longer is repeated within the function's timeout.
 */
const INIT_LIMIT_MS = 10_000;
const IDLE_LIMIT_MS = 60_000;
/** Number of idle environments that are kept without a time limit. */
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
  /** Oldest first. The newest is used next, so surplus environments reach the idle limit. */
  readonly #idle: { environment: Environment; since: number }[] = [];
  readonly #running = new Map<Promise<unknown>, RunningJobs>();
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

  /** Invokes the function with `payload`, a JSON text. Never throws: a failure is part of the result. */
  async invoke(payload: string, requestId: string = randomUUID()): Promise<InvocationResult> {
    const jobIds = jobIdsOf(payload);
    const limitMs = this.spec.timeoutSeconds * 1000;
    const running = { functionName: this.spec.name, requestId, jobIds, deadlineMs: Date.now() + limitMs };
    const run = this.#invoke(payload, running);
    this.#running.set(run, running);
    const result = await run;
    this.#running.delete(run);
    this.#report(result, running);
    return result;
  }

  /** Number of running invocations. */
  get running(): number {
    return this.#running.size;
  }

  /** Returns the running invocations that received messages of jobs. */
  runningJobs(): RunningJobs[] {
    return [...this.#running.values()].filter(({ jobIds }) => jobIds.length > 0);
  }

  pids(): number[] {
    return [...this.#all].flatMap(({ pid, alive }) => (alive && pid !== undefined ? [pid] : []));
  }

  /** Stops the idle environments and keeps none from now on; resolves when running invocations have finished. */
  async drain(): Promise<void> {
    this.#retired = true;
    clearInterval(this.#reaper);
    for (const { environment } of this.#idle.splice(0)) this.#discard(environment);
    await Promise.all(this.#running.keys());
  }

  /** Kills running environments, and those that would start later. */
  kill(): void {
    this.#killed = true;
    for (const environment of this.#all) environment.kill();
  }

  async #invoke(payload: string, running: { requestId: string; deadlineMs: number }): Promise<InvocationResult> {
    const { spec, functionArn } = this.#options;
    const { requestId } = running;
    const environment = await this.#acquire(requestId);
    if ('kind' in environment) return environment;
    const limitMs = spec.timeoutSeconds * 1000;
    const deadlineMs = Date.now() + limitMs;
    running.deadlineMs = deadlineMs;
    const result = await environment.run({ requestId, payload, deadlineMs, functionArn, traceId: traceId() }, limitMs);
    if (environment.alive && !this.#retired) this.#idle.push({ environment, since: Date.now() });
    else this.#discard(environment);
    return result;
  }

  /** Returns a warm or a new environment, or the failure of its start. */
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

  #report(result: InvocationResult, { requestId, jobIds }: RunningJobs): void {
    if (result.kind === 'success' || result.kind === 'error' || result.kind === 'throttled' || this.#killed) return;
    const { name: functionName, timeoutSeconds, memoryMb } = this.spec;
    const messages = {
      timeout: () => `timed out after ${timeoutSeconds} s and was killed`,
      'out-of-memory': () => `used more than its ${memoryMb} MB and was killed`,
      exit: () => result.error.errorMessage.replace(/^RequestId: \S+ Error: /, ''),
      'init-failed': () => summarize(result.error),
    };
    const message = messages[result.kind]();
    const { kind, error } = result;
    const lines = endLines({ kind, requestId, errorMessage: error.errorMessage }, this.spec);
    this.#options.onEvent({ kind, functionName, message, requestId, jobIds, lines });
  }
}

/** Returns the ids of the jobs in an event from SQS; none for any other event. */
function jobIdsOf(payload: string): string[] {
  const { Records: records } = (parseJson(payload) ?? {}) as { Records?: unknown };
  if (!Array.isArray(records)) return [];
  return records.flatMap(({ body }) => decodeMessage(String(body))?.jobId ?? []);
}

function asInit(result: Environment | InvocationResult): Environment | InvocationResult {
  if (!('kind' in result) || !('error' in result)) return result;
  return { kind: 'init-failed', error: result.error };
}

function traceId(): string {
  const seconds = Math.floor(Date.now() / 1000).toString(16);
  return `Root=1-${seconds}-${randomBytes(12).toString('hex')};Parent=${randomBytes(8).toString('hex')};Sampled=0`;
}

import type { Readable } from 'node:stream';
import { ownFile } from '../../core/own-files.ts';
import type { Child, Children } from '../processes/children.ts';
import { environmentVariables } from './environment-variables.ts';
import { exited, type InvocationResult, outOfMemory, parseError, timedOut } from './invocation-result.ts';
import { watchMemory } from './memory.ts';
import { type NextInvocation, openRuntimeApi, type RuntimeApi } from './runtime-api.ts';

const BOOTSTRAP = ownFile('local/lambda/bootstrap.mjs');

/** Lambda splits longer log lines too. */
const LONGEST_LINE = 262_144;

export interface EnvironmentOptions {
  children: Children;
  functionName: string;
  bundle: string;
  memoryMb: number;
  region: string;
  /** Main module of the runtime; default: bootstrap.mjs. */
  bootstrap?: string | undefined;
  variables: Readonly<Record<string, string>>;
  onLog: (stream: 'stdout' | 'stderr', line: string, requestId?: string) => void;
}

interface Phase {
  requestId: string;
  limitMs: number;
  timer: NodeJS.Timeout;
  stopWatching: () => void;
  /** The result that the runtime has reported. */
  reported?: InvocationResult;
  /** Why the process was killed. */
  cause?: 'timeout' | 'out-of-memory';
  /** Receives undefined once the runtime is initialised. */
  resolve: (result: InvocationResult | undefined) => void;
}

/**
 * One execution environment: a process that runs one invocation at a time, is stopped (SIGSTOP) between them, and is
 * killed with its process group when it exceeds its time or memory.
 */
export class Environment {
  readonly #options: EnvironmentOptions;
  #api: RuntimeApi | undefined;
  #child: Child | undefined;
  #phase: Phase | undefined;
  #gone = false;
  /** Request id of the newest invocation; a line may be read after its invocation has ended. */
  #requestId: string | undefined;

  constructor(options: EnvironmentOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** False once the process has ended or was killed. */
  get alive(): boolean {
    return !this.#gone;
  }

  /** Starts the process and waits until the runtime requests its first event. Returns undefined, or the failure. */
  async start(requestId: string, limitMs: number): Promise<InvocationResult | undefined> {
    const api = await openRuntimeApi({
      onNext: () => this.#finish(),
      onResponse: (id, body) => this.#record(id, { kind: 'success', body }),
      onError: (id, body) => this.#record(id, { kind: 'error', error: parseError(body) }),
      onInitError: (body) => this.#record(requestId, { kind: 'init-failed', error: parseError(body) }),
    });
    this.#api = api;
    return new Promise((resolve) => {
      try {
        if (this.#gone) throw new Error('the runner is closing');
        this.#spawn(api);
      } catch (error) {
        this.#gone = true;
        api.close();
        resolve({ kind: 'init-failed', error: { errorType: 'Runtime.StartFailed', errorMessage: String(error) } });
        return;
      }
      this.#begin({ requestId, limitMs, resolve });
    });
  }

  /** Runs one invocation, which ends with the runtime's next request or with the process. */
  run(invocation: NextInvocation, limitMs: number): Promise<InvocationResult> {
    return new Promise((resolve) => {
      if (this.#gone) {
        resolve({ kind: 'exit', error: exited(invocation.requestId, { code: null, signal: 'SIGKILL' }) });
        return;
      }
      const { requestId } = invocation;
      const noResponse: InvocationResult = {
        kind: 'error',
        error: { errorType: 'Runtime.NoResponse', errorMessage: `RequestId: ${requestId} Error: no response` },
      };
      this.#begin({ requestId, limitMs, resolve: (result) => resolve(result ?? noResponse) });
      this.#child?.kill('SIGCONT');
      this.#api?.deliver(invocation);
    });
  }

  kill(): void {
    this.#gone = true;
    this.#child?.kill('SIGKILL');
  }

  #spawn(api: RuntimeApi): void {
    const { children, functionName, bundle, memoryMb, region, variables, onLog, bootstrap } = this.#options;
    const own = { functionName, bundle, memoryMb, region, own: variables, runtimeApi: api.address };
    const child = children.spawn(process.execPath, [...heapLimits(memoryMb), bootstrap ?? BOOTSTRAP], {
      env: environmentVariables(own),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of ['stdout', 'stderr'] as const) {
      const source = child.process[stream];
      if (source) onLines(source, (line) => onLog(stream, line, this.#requestId));
    }
    this.#child = child;
    void child.exited.then((exit) => this.#end(exit));
  }

  #begin(phase: Pick<Phase, 'requestId' | 'limitMs' | 'resolve'>): void {
    const kill = (cause: 'timeout' | 'out-of-memory') => {
      if (this.#phase) this.#phase.cause = cause;
      this.kill();
    };
    this.#requestId = phase.requestId;
    this.#phase = {
      ...phase,
      timer: setTimeout(kill, phase.limitMs, 'timeout'),
      stopWatching: watchMemory(this.pid ?? 0, this.#options.memoryMb, () => kill('out-of-memory')),
    };
  }

  #record(requestId: string, result: InvocationResult): void {
    if (this.#phase?.requestId === requestId) this.#phase.reported ??= result;
  }

  #finish(result = this.#phase?.reported): void {
    const phase = this.#phase;
    this.#phase = undefined;
    if (!phase) return;
    clearTimeout(phase.timer);
    phase.stopWatching();
    // Stopped before the result is returned, so that no timer or promise of the handler continues.
    if (!this.#gone) this.#child?.kill('SIGSTOP');
    phase.resolve(result);
  }

  #end(exit: { code: number | null; signal: NodeJS.Signals | null }): void {
    this.#gone = true;
    this.#api?.close();
    if (this.#phase) this.#finish(this.#phase.reported ?? resultOfExit(this.#phase, exit));
  }
}

function resultOfExit({ requestId, limitMs, cause }: Phase, exit: Parameters<typeof exited>[1]): InvocationResult {
  switch (cause) {
    case 'timeout':
      return { kind: cause, error: timedOut(requestId, limitMs / 1000) };
    case 'out-of-memory':
      return { kind: cause, error: outOfMemory(requestId) };
    default:
      return { kind: 'exit', error: exited(requestId, exit) };
  }
}

/** Returns the heap options that Lambda passes to V8: without them V8 delays collections beyond the memory limit. */
function heapLimits(memoryMb: number): string[] {
  const young = Math.floor(memoryMb / 10);
  return [`--max-semi-space-size=${Math.floor(young / 2)}`, `--max-old-space-size=${memoryMb - young}`];
}

/** Calls `onLine` with each complete line of `stream`, and with the rest at its end. */
function onLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    if (rest.length > LONGEST_LINE) {
      onLine(rest);
      rest = '';
    }
  });
  stream.on('close', () => {
    if (rest !== '') onLine(rest);
  });
}

import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Child, Children } from '../processes/children.ts';
import { environmentVariables } from './environment-variables.ts';
import { exited, type InvocationResult, outOfMemory, parseError, timedOut } from './invocation-result.ts';
import { watchMemory } from './memory.ts';
import { type NextInvocation, openRuntimeApi, type RuntimeApi } from './runtime-api.ts';

const BOOTSTRAP = fileURLToPath(new URL('bootstrap.mjs', import.meta.url));

/** Lambda cuts a log line here too. */
const LONGEST_LINE = 262_144;

export interface EnvironmentOptions {
  children: Children;
  functionName: string;
  bundle: string;
  memoryMb: number;
  region: string;
  /** The runtime's main module; default: ours. */
  bootstrap?: string | undefined;
  variables: Readonly<Record<string, string>>;
  onLog: (stream: 'stdout' | 'stderr', line: string, requestId?: string) => void;
}

interface Phase {
  requestId: string;
  limitMs: number;
  timer: NodeJS.Timeout;
  stopWatching: () => void;
  /** What the runtime has said so far. */
  said?: InvocationResult;
  /** Why we killed it. */
  cause?: 'timeout' | 'out-of-memory';
  /** undefined: initialised. */
  resolve: (outcome: InvocationResult | undefined) => void;
}

/**
 * One execution environment: a process that runs one invocation at a time, is stopped between them, and is killed with
 * its process group when its time or memory is over.
 */
export class Environment {
  readonly #options: EnvironmentOptions;
  #api: RuntimeApi | undefined;
  #child: Child | undefined;
  #phase: Phase | undefined;
  #gone = false;
  /** Whose lines the process writes; a line may be read after its invocation has ended. */
  #requestId: string | undefined;

  constructor(options: EnvironmentOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** False once the process has ended, or was told to. */
  get alive(): boolean {
    return !this.#gone;
  }

  /** Starts the process and waits until the runtime asks for work: undefined, or how that failed. */
  async start(requestId: string, limitMs: number): Promise<InvocationResult | undefined> {
    const api = await openRuntimeApi({
      onNext: () => this.#finish(),
      onResponse: (id, body) => this.#say(id, { kind: 'success', body }),
      onError: (id, body) => this.#say(id, { kind: 'error', error: parseError(body) }),
      onInitError: (body) => this.#say(requestId, { kind: 'init-failed', error: parseError(body) }),
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

  /** Runs one invocation to its end, which is the runtime's next request or the end of the process. */
  run(invocation: NextInvocation, limitMs: number): Promise<InvocationResult> {
    return new Promise((resolve) => {
      if (this.#gone) {
        resolve({ kind: 'exit', error: exited(invocation.requestId, { code: null, signal: 'SIGKILL' }) });
        return;
      }
      const { requestId } = invocation;
      const silent: InvocationResult = {
        kind: 'error',
        error: { errorType: 'Runtime.NoResponse', errorMessage: `RequestId: ${requestId} Error: no response` },
      };
      this.#begin({ requestId, limitMs, resolve: (outcome) => resolve(outcome ?? silent) });
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

  #say(requestId: string, outcome: InvocationResult): void {
    if (this.#phase?.requestId === requestId) this.#phase.said ??= outcome;
  }

  #finish(outcome = this.#phase?.said): void {
    const phase = this.#phase;
    this.#phase = undefined;
    if (!phase) return;
    clearTimeout(phase.timer);
    phase.stopWatching();
    // Stopped before anybody hears of the answer, so that nothing the handler left behind goes on.
    if (!this.#gone) this.#child?.kill('SIGSTOP');
    phase.resolve(outcome);
  }

  #end(exit: { code: number | null; signal: NodeJS.Signals | null }): void {
    this.#gone = true;
    this.#api?.close();
    if (this.#phase) this.#finish(this.#phase.said ?? endingOf(this.#phase, exit));
  }
}

function endingOf({ requestId, limitMs, cause }: Phase, exit: Parameters<typeof exited>[1]): InvocationResult {
  switch (cause) {
    case 'timeout':
      return { kind: cause, error: timedOut(requestId, limitMs / 1000) };
    case 'out-of-memory':
      return { kind: cause, error: outOfMemory(requestId) };
    default:
      return { kind: 'exit', error: exited(requestId, exit) };
  }
}

/** What Lambda tells V8, in MB: not knowing of the limit, it puts its collections off until the process is killed. */
function heapLimits(memoryMb: number): string[] {
  const young = Math.floor(memoryMb / 10);
  return [`--max-semi-space-size=${Math.floor(young / 2)}`, `--max-old-space-size=${memoryMb - young}`];
}

/** Calls `onLine` with each whole line of `stream`, and with what is left at its end. */
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

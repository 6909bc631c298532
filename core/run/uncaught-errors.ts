import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';

/** The attempt whose code runs. */
export interface Owner {
  readonly jobId: string;
}

/** An error that no code awaited or caught. */
export interface UncaughtError {
  readonly error: unknown;
  /** The attempt whose code raised it; undefined when unknown. */
  readonly owner: Owner | undefined;
  /** Hands the error to the listeners of the Lambda runtime, which report it and end the process. */
  readonly pass: () => void;
}

export interface UncaughtErrors {
  /** Calls `listener` for each error instead of the runtime, until the returned function is called. */
  watch(listener: (uncaught: UncaughtError) => void): () => void;
}

const owners = new AsyncLocalStorage<Owner>();

/** Runs `work` as the code of an attempt, together with every callback and promise that it creates. */
export function owned<T>(owner: Owner, work: () => T): T {
  return owners.run(owner, work);
}

/** Returns the attempt whose code runs; undefined for code that no attempt started. */
export function currentOwner(): Owner | undefined {
  return owners.getStore();
}

const raisers = new WeakSet<Owner>();

/** Returns whether code of an attempt raised an uncaught error or tried to exit: each would have ended the process. */
export function hasRaised(owner: Owner): boolean {
  return raisers.has(owner);
}

/** The part of `process` that matters here. */
export interface ErrorSource extends EventEmitter {
  exit: (code?: number) => never;
  abort: () => never;
}

/**
 * Receives the uncaught errors of a process. The runtime ends the process in its own listeners, so at the first `watch`
 * they are replaced, and called only when an error is passed on. Calls of `process.exit` and `process.abort` are such
 * errors too.
 */
export function openUncaughtErrors(source: ErrorSource): UncaughtErrors {
  let listener: ((uncaught: UncaughtError) => void) | undefined;
  let installed = false;
  const receive = (error: unknown, pass: () => void) => {
    const owner = currentOwner();
    if (owner) raisers.add(owner);
    if (listener) listener({ error, owner, pass });
    else pass();
  };
  const install = () => {
    installed = true;
    const exceptions = take(source, 'uncaughtException');
    const rejections = take(source, 'unhandledRejection');
    source.on('uncaughtException', (error, origin) => receive(error, () => passTo(exceptions, error, origin)));
    source.on('unhandledRejection', (error, promise) =>
      receive(error, () => {
        if (rejections.length > 0) passTo(rejections, error, promise);
        // As Node does without a listener for rejections.
        else passTo(exceptions, error, 'unhandledRejection');
      }),
    );
    const [exit, abort] = [source.exit.bind(source), source.abort.bind(source)];
    const end = (call: string, really: () => never) => {
      if (!listener) return really();
      const error = new Error(`process.${call} was called`);
      receive(error, really);
      // The caller expects that nothing after the call runs.
      throw error;
    };
    source.exit = (code) => end(`exit(${code ?? ''})`, () => exit(code));
    source.abort = () => end('abort()', abort);
  };
  return {
    watch(given) {
      if (!installed) install();
      listener = given;
      return () => {
        listener = undefined;
      };
    },
  };
}

type Listener = (error: unknown, detail: unknown) => void;

/** Removes the listeners of an event and returns them. */
function take(source: EventEmitter, event: string): Listener[] {
  const listeners = source.listeners(event) as Listener[];
  source.removeAllListeners(event);
  return listeners;
}

function passTo(listeners: readonly Listener[], error: unknown, detail: unknown): void {
  // Ends the process, as the error would have without any listener.
  if (listeners.length === 0) throw error;
  for (const listener of listeners) listener(error, detail);
}

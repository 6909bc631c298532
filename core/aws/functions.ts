import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { Log } from '../log.ts';
import { type AwsAddress, openLambda } from './clients.ts';

export interface Dispatched {
  readonly claimed: number;
  readonly sent: number;
}

export interface DispatcherFunction {
  /** Invokes the dispatcher for one round, which claims at most `limit` jobs, and waits for the result. */
  processNow(limit?: number): Promise<Dispatched>;
  /**
   * Invokes the dispatcher for a round soon and another a second later. Of several calls within a second, by this
   * process or by another that shares `nudges`, only the first invokes it; the second round serves the others. Never
   * throws: after a failure, the job waits for the next tick.
   */
  wake(): Promise<void>;
}

/** Shares one nudge a second between processes, so that their number does not determine how many dispatchers run. */
export interface Nudges {
  /** Returns undefined, or how many milliseconds ago another process woke the dispatcher, within the last second. */
  claim(): Promise<number | undefined>;
  /** Lets the next caller wake the dispatcher, since this one failed. */
  release(): Promise<void>;
}

export interface DispatcherFunctionOptions {
  readonly functionName: string;
  readonly log: Log;
  /** Without it, the dispatcher is woken once a second by this process alone. */
  readonly nudges?: Nudges;
  /** Without it, the AWS SDK reads region, credentials and endpoint from the environment. */
  readonly address?: AwsAddress | undefined;
}

const ALONE: Nudges = { claim: async () => undefined, release: async () => undefined };
const WAKE_EVERY_MS = 1000;
const NUDGE = { nudge: true };
const NUDGE_TWICE = { nudge: true, again: true };

/** Opens a client for the dispatcher's function. */
export function openDispatcherFunction(options: DispatcherFunctionOptions): DispatcherFunction {
  const { functionName, log, nudges = ALONE, address } = options;
  const client = openClient({ maxAttempts: 2, requestTimeout: 25_000 }, address);
  // An enqueue waits for this client, so it has a short timeout and no retry.
  const waker = openClient({ maxAttempts: 1, requestTimeout: 2000 }, address);
  let wokenAt = Number.NEGATIVE_INFINITY;
  return {
    processNow: (limit) => invokeAndWait(client, functionName, { ...NUDGE, ...(limit !== undefined && { limit }) }),
    wake: async () => {
      if (performance.now() - wokenAt < WAKE_EVERY_MS) return;
      wokenAt = performance.now();
      try {
        const since = await nudges.claim();
        if (since === undefined) await nudge(waker, functionName, nudges);
        // The second round of that nudge serves callers until a second after the nudge, not after this call.
        else wokenAt -= since;
      } catch (error) {
        wokenAt = Number.NEGATIVE_INFINITY;
        log.warn('nudge_failed', { function: functionName, error });
      }
    },
  };
}

async function nudge(client: LambdaClient, functionName: string, nudges: Nudges): Promise<void> {
  const command = { FunctionName: functionName, InvocationType: 'Event', Payload: toBytes(NUDGE_TWICE) } as const;
  try {
    await client.send(new InvokeCommand(command));
  } catch (error) {
    await nudges.release().catch(() => undefined);
    throw error;
  }
}

function openClient(
  { maxAttempts, requestTimeout }: { maxAttempts: number; requestTimeout: number },
  address: AwsAddress | undefined,
): LambdaClient {
  const requestHandler = { connectionTimeout: 1000, requestTimeout, throwOnRequestTimeout: true };
  return openLambda({ maxAttempts, requestHandler }, address);
}

async function invokeAndWait(client: LambdaClient, functionName: string, event: object): Promise<Dispatched> {
  const round = (await invoke(client, functionName, event)) as Dispatched | null;
  if (round === null) throw new Error(`${functionName} returned nothing: check that it is the dispatcher`);
  return round;
}

/**
 * Invokes a function and returns its result. Without an address, the AWS SDK reads it from the environment.
 * @throws an Error with the function's error when it fails, and the errors of the SDK.
 */
export async function invokeFunction(functionName: string, event: object, address?: AwsAddress): Promise<unknown> {
  return invoke(openClient({ maxAttempts: 2, requestTimeout: 25_000 }, address), functionName, event);
}

async function invoke(client: LambdaClient, functionName: string, event: object): Promise<unknown> {
  const command = new InvokeCommand({ FunctionName: functionName, Payload: toBytes(event) });
  const { Payload, FunctionError } = await client.send(command);
  const text = Payload === undefined ? 'null' : Buffer.from(Payload).toString('utf8');
  if (FunctionError !== undefined) throw new Error(`${functionName} failed: ${text}`);
  return JSON.parse(text);
}

function toBytes(event: object): Uint8Array {
  return Buffer.from(JSON.stringify(event));
}

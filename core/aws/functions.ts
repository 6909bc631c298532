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
   * Invokes the dispatcher for a round soon and another a second later. Of several calls within a second only the first
   * invokes it; the second round serves the others. Never throws: after a failure, the job waits for the next tick.
   */
  wake(): Promise<void>;
}

const WAKE_EVERY_MS = 1000;
const NUDGE = { nudge: true };
const NUDGE_TWICE = { nudge: true, again: true };

/**
 * Opens a client for the dispatcher's function. Without an address, the AWS SDK reads region, credentials and endpoint
 * from the environment.
 */
export function openDispatcherFunction(functionName: string, log: Log, address?: AwsAddress): DispatcherFunction {
  const client = openClient({ maxAttempts: 2, requestTimeout: 25_000 }, address);
  // An enqueue waits for this client, so it has a short timeout and no retry.
  const waker = openClient({ maxAttempts: 1, requestTimeout: 2000 }, address);
  let wokenAt = Number.NEGATIVE_INFINITY;
  return {
    processNow: (limit) => invokeAndWait(client, functionName, { ...NUDGE, ...(limit !== undefined && { limit }) }),
    wake: async () => {
      if (performance.now() - wokenAt < WAKE_EVERY_MS) return;
      wokenAt = performance.now();
      const command = { FunctionName: functionName, InvocationType: 'Event', Payload: toBytes(NUDGE_TWICE) } as const;
      await waker.send(new InvokeCommand(command)).catch((error: unknown) => {
        wokenAt = Number.NEGATIVE_INFINITY;
        log.warn('nudge_failed', { function: functionName, error });
      });
    },
  };
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

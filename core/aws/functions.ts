import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { Log } from '../log.ts';
import type { AwsAddress } from './batches.ts';

export interface Dispatched {
  readonly claimed: number;
  readonly sent: number;
}

export interface DispatcherFunction {
  /** Has it make a round and waits for it. */
  processNow(): Promise<Dispatched>;
  /**
   * Has it make a round soon, and another a second later: of many calls within a second only the first asks, so the
   * second round is for the others. Never throws: what is lost costs a job the wait for the next tick.
   */
  wake(): Promise<void>;
}

const WAKE_EVERY_MS = 1000;
const NUDGE = { nudge: true };
const NUDGE_TWICE = { nudge: true, again: true };

/**
 * The dispatcher by the name of its function. Region, credentials and endpoint come from the environment, unless they
 * are given.
 */
export function openDispatcherFunction(functionName: string, log: Log, address?: AwsAddress): DispatcherFunction {
  const client = openClient({ maxAttempts: 2, requestTimeout: 25_000 }, address);
  // An enqueue waits for this one, and can do without it.
  const waker = openClient({ maxAttempts: 1, requestTimeout: 2000 }, address);
  let wokenAt = Number.NEGATIVE_INFINITY;
  return {
    processNow: () => invokeAndWait(client, functionName),
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
  return new LambdaClient({
    maxAttempts,
    requestHandler: { connectionTimeout: 1000, requestTimeout, throwOnRequestTimeout: true },
    ...address,
  });
}

async function invokeAndWait(client: LambdaClient, functionName: string): Promise<Dispatched> {
  const round = (await ask(client, functionName, NUDGE)) as Dispatched | null;
  if (round === null) throw new Error(`${functionName} returned nothing: is it the dispatcher?`);
  return round;
}

/**
 * Invokes a function where the environment says, unless an address is given, and waits for what it answers.
 * @throws an Error with what it says when it fails, and those of the SDK.
 */
export async function invokeFunction(functionName: string, event: object, address?: AwsAddress): Promise<unknown> {
  return ask(openClient({ maxAttempts: 2, requestTimeout: 25_000 }, address), functionName, event);
}

async function ask(client: LambdaClient, functionName: string, event: object): Promise<unknown> {
  const command = new InvokeCommand({ FunctionName: functionName, Payload: toBytes(event) });
  const { Payload, FunctionError } = await client.send(command);
  const text = Payload === undefined ? 'null' : Buffer.from(Payload).toString('utf8');
  if (FunctionError !== undefined) throw new Error(`${functionName} failed: ${text}`);
  return JSON.parse(text);
}

function toBytes(event: object): Uint8Array {
  return Buffer.from(JSON.stringify(event));
}

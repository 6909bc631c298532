import { type Broker, queueByUrl } from '../broker/broker.ts';
import { invalidParameter, missingParameter } from '../errors.ts';
import type { Queue } from '../queue/queue.ts';

/** The parsed body of a request: any JSON object. */
export type Input = Readonly<Record<string, unknown>>;

/** What an action may ask of the connection it answers. */
export interface Connection {
  /** Calls `leave` when the client hangs up before it was answered. */
  onGone(leave: () => void): void;
  /** Set by an action: how to undo it when the answer could not be written. */
  undo?: () => void;
}

export type Action = (broker: Broker, input: Input, connection: Connection) => object | Promise<object>;

export function readQueue(broker: Broker, input: Input): Queue {
  return queueByUrl(broker, requireString(input, 'QueueUrl'));
}

/** @throws SqsError MissingParameter */
export function requireString(input: Input, name: string): string {
  const value = readString(input, name);
  if (value === undefined || value === '') throw missingParameter(name);
  return value;
}

export function readString(input: Input, name: string): string | undefined {
  const value = input[name] ?? undefined;
  if (value !== undefined && typeof value !== 'string') throw invalidParameter(name, value, 'Must be a string.');
  return value;
}

export function readStrings(input: Input, name: string): readonly string[] {
  const value = input[name] ?? [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw invalidParameter(name, value, 'Must be a list of strings.');
  }
  return value;
}

export function readObject(input: Input, name: string): Input {
  const value = input[name] ?? {};
  if (typeof value !== 'object' || Array.isArray(value)) throw invalidParameter(name, value, 'Must be an object.');
  return value as Input;
}

/** @throws SqsError InvalidParameterValue when it is not a whole number in the range */
export function readInteger(input: Input, name: string, least: number, most: number): number | undefined {
  const value = input[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    throw invalidParameter(name, value, `Must be between ${least} and ${most}, if provided.`);
  }
  return value;
}

import type { Moto } from './moto.ts';

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
}

interface Policy {
  readonly Statement: readonly Statement[];
}

/** What moto made of a stack, as its own answers tell. */
export interface Made {
  /** Of moto. */
  readonly version: string;
  readonly status: string;
  /** Logical id to type. */
  readonly resources: Readonly<Record<string, string>>;
  /** Name to attributes. */
  readonly queues: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly functions: Readonly<Record<string, { readonly Role: string; readonly Architectures: readonly string[] }>>;
  readonly mappings: readonly { readonly FunctionArn: string }[];
  /** ARN to policies by name; those that are part of the role itself come back as a text. */
  readonly roles: Readonly<Record<string, { readonly policies: Readonly<Record<string, Policy | string>> }>>;
  readonly schedules: readonly unknown[];
  readonly logGroups: Readonly<Record<string, { readonly retentionInDays?: number }>>;
}

export async function readBack(moto: Moto, stack: string): Promise<Made> {
  return JSON.parse(await moto.python('read-back.py', [stack])) as Made;
}

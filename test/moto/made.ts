import type { Moto } from './moto.ts';

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
}

interface Policy {
  readonly Statement: readonly Statement[];
}

/** What moto created for a stack, according to its APIs. */
export interface Made {
  /** Version of moto. */
  readonly version: string;
  readonly status: string;
  /** Type by logical id. */
  readonly resources: Readonly<Record<string, string>>;
  /** Attributes by name. */
  readonly queues: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly functions: Readonly<Record<string, { readonly Role: string; readonly Architectures: readonly string[] }>>;
  readonly mappings: readonly { readonly FunctionArn: string }[];
  /** Policies by name, by ARN of the role; moto returns inline policies as text. */
  readonly roles: Readonly<Record<string, { readonly policies: Readonly<Record<string, Policy | string>> }>>;
  readonly schedules: readonly unknown[];
  readonly logGroups: Readonly<Record<string, { readonly retentionInDays?: number }>>;
}

export async function readBack(moto: Moto, stack: string): Promise<Made> {
  return JSON.parse(await moto.python('read-back.py', [stack])) as Made;
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { Children } from '../processes/children.ts';
import { answerApi } from './api.ts';
import { FunctionTable } from './function-table.ts';
import { toAnswer } from './invocation-result.ts';
import { Mapping } from './mapping.ts';
import { openQueueClient } from './queue-client.ts';
import type { FunctionSpec, MappingSpec, RunnerEvent } from './specs.ts';

export interface RunnerOptions {
  children: Children;
  sqsEndpoint: string;
  /** Default: a free one. */
  port?: number;
  region?: string;
  accountId?: string;
  /** Main module of the runtime in the environments, such as that of `aws-lambda-ric`; default: our own. */
  bootstrap?: string | undefined;
  onEvent?: (event: RunnerEvent) => void;
}

export interface Runner {
  /** For any Lambda client. */
  readonly endpoint: string;
  readonly port: number;
  /** Throws when there is one of this name. */
  addFunction(spec: FunctionSpec): void;
  /** New code: invocations at work finish on the old. */
  replaceFunction(spec: FunctionSpec): void;
  /** Returns its UUID. */
  addMapping(spec: MappingSpec): string;
  /** With its mappings; invocations at work finish. */
  removeFunction(name: string): void;
  /**
   * Throws `FunctionNotFoundError`, and `ServiceError` when it is throttled; what goes wrong inside the function is
   * `functionError`.
   */
  invoke(
    name: string,
    payload: unknown,
    type: 'RequestResponse' | 'Event',
  ): Promise<{ payload: unknown; functionError?: string }>;
  /** Process ids of the live environments. */
  environments(functionName?: string): number[];
  /** Stops polling, lets invocations at work finish up to `graceMs` (default 10,000), kills the rest. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** Runs functions in processes of their own behind the wire protocol of Lambda, and feeds them from SQS. */
export async function startRunner(options: RunnerOptions): Promise<Runner> {
  const { children, sqsEndpoint, port = 0, region = 'us-east-1', accountId = '000000000000' } = options;
  const { bootstrap, onEvent = () => {} } = options;
  const functions = new FunctionTable({ children, region, accountId, onEvent, bootstrap });
  const mappings = new Map<string, Mapping>();
  const queues = openQueueClient(sqsEndpoint, region);
  const server = createServer(answerApi({ functions, mappings }));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;

  return {
    endpoint: `http://127.0.0.1:${bound}`,
    port: bound,
    addFunction: (spec) => functions.add(spec),
    replaceFunction: (spec) => functions.replace(spec),
    addMapping(spec) {
      functions.get(spec.functionName);
      const invoke = (name: string, payload: string) => functions.invoke(name, payload);
      const mapping = new Mapping(spec, { queues, invoke, onEvent });
      mappings.set(mapping.uuid, mapping);
      return mapping.uuid;
    },
    removeFunction(name) {
      functions.remove(name);
      for (const mapping of mappings.values()) {
        if (mapping.spec.functionName !== name) continue;
        mappings.delete(mapping.uuid);
        void mapping.stop();
      }
    },
    invoke: (name, payload, type) => invokeFunction(functions, { name, payload, type }),
    environments: (name) => functions.pids(name),
    async close({ graceMs = 10_000 } = {}) {
      const timer = setTimeout(() => functions.kill(), graceMs);
      await Promise.all([...mappings.values()].map((mapping) => mapping.stop()));
      await functions.drain();
      clearTimeout(timer);
      functions.kill();
      queues.close();
      // The last answers are still to be written.
      await setImmediate();
      server.close();
      server.closeAllConnections();
    },
  };
}

async function invokeFunction(
  functions: FunctionTable,
  { name, payload, type }: { name: string; payload: unknown; type: 'RequestResponse' | 'Event' },
): Promise<{ payload: unknown; functionError?: string }> {
  const text = JSON.stringify(payload) ?? 'null';
  if (type === 'Event') {
    functions.invokeLater(name, text);
    return { payload: null };
  }
  functions.get(name);
  const answer = toAnswer(await functions.invoke(name, text));
  return { ...answer, payload: JSON.parse(answer.payload) };
}

import { setImmediate } from 'node:timers/promises';
import { listenOnLoopback } from '../loopback/loopback-server.ts';
import type { Children } from '../processes/children.ts';
import { answerApi } from './api.ts';
import { FunctionTable } from './function-table.ts';
import { toAnswer } from './invocation-result.ts';
import { Mapping } from './mapping.ts';
import { openQueueClient } from './queue-client.ts';
import type { FunctionSpec, MappingSpec, RunnerEvent, RunningJobs } from './specs.ts';

export interface RunnerOptions {
  children: Children;
  sqsEndpoint: string;
  /** The only access key whose requests the endpoint answers; their signatures are not verified. */
  accessKeyId: string;
  /** Default: any free port. */
  port?: number;
  region?: string;
  accountId?: string;
  /** Main module of the runtime, for example that of `aws-lambda-ric`; default: bootstrap.mjs. */
  bootstrap?: string | undefined;
  onEvent?: (event: RunnerEvent) => void;
}

export interface Runner {
  /** URL for Lambda clients. */
  readonly endpoint: string;
  readonly port: number;
  /** Adds a function. Throws if a function with this name exists. */
  addFunction(spec: FunctionSpec): void;
  /** Replaces the code of a function; running invocations finish with the old code. */
  replaceFunction(spec: FunctionSpec): void;
  /** Adds an event source mapping and returns its UUID. */
  addMapping(spec: MappingSpec): string;
  /** Removes a function and its mappings; running invocations finish. */
  removeFunction(name: string): void;
  /**
   * Invokes a function; a failure of the function is returned as `functionError`. Throws `FunctionNotFoundError`, and
   * `ServiceError` if the function is throttled.
   */
  invoke(
    name: string,
    payload: unknown,
    type: 'RequestResponse' | 'Event',
  ): Promise<{ payload: unknown; functionError?: string }>;
  /** Returns the process ids of the live environments. */
  environments(functionName?: string): number[];
  /** Returns the running invocations that received messages of jobs. */
  runningJobs(): RunningJobs[];
  /**
   * Stops polling, waits up to `graceMs` (default 10,000) for running invocations, and kills the rest. With
   * `finishJobs`, invocations that run jobs have until the timeout of their function.
   */
  close(options?: { graceMs?: number; finishJobs?: boolean }): Promise<void>;
}

/** Runs functions in separate processes behind Lambda's wire protocol, and delivers messages from SQS to them. */
export async function startRunner(options: RunnerOptions): Promise<Runner> {
  const { children, sqsEndpoint, accessKeyId, port = 0, region = 'us-east-1', accountId = '000000000000' } = options;
  const { bootstrap, onEvent = () => {} } = options;
  const functions = new FunctionTable({ children, region, accountId, onEvent, bootstrap });
  const mappings = new Map<string, Mapping>();
  const queues = openQueueClient(sqsEndpoint, region);
  const server = await listenOnLoopback(port, answerApi({ functions, mappings, accessKeyId }));

  return {
    endpoint: server.url,
    port: server.port,
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
    runningJobs: () => functions.runningJobs(),
    async close({ graceMs = 10_000, finishJobs = false } = {}) {
      const timer = setTimeout(() => (finishJobs ? functions.killOthers() : functions.kill()), graceMs);
      await Promise.all([...mappings.values()].map((mapping) => mapping.stop()));
      await functions.drain();
      clearTimeout(timer);
      functions.kill();
      queues.close();
      // Wait one turn for the last responses to be written.
      await setImmediate();
      await server.close();
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

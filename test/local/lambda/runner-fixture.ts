import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Runner, startRunner } from '../../../local/lambda/runner.ts';
import type { FunctionSpec, RunnerEvent } from '../../../local/lambda/specs.ts';
import { openChildren } from '../../../local/processes/children.ts';

export interface RunnerFixture {
  runner: Runner;
  events: RunnerEvent[];
  /** Returns the lines that the functions wrote to stdout. */
  lines(): string[];
  /** Writes `source` as the built bundle of a function with this name, and returns its spec. */
  build(name: string, source: string, spec?: Partial<FunctionSpec>): Promise<FunctionSpec>;
  /** Builds a function and adds it to the runner. */
  add(name: string, source: string, spec?: Partial<FunctionSpec>): Promise<void>;
  close(): Promise<void>;
}

export async function openRunner(sqsEndpoint = 'http://127.0.0.1:1'): Promise<RunnerFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'runner-'));
  const children = openChildren();
  const events: RunnerEvent[] = [];
  // For AWS's own runtime: LAMBDA_BOOTSTRAP=…/aws-lambda-ric/index.mjs npx vitest run test/local/lambda/effects
  const bootstrap = process.env.LAMBDA_BOOTSTRAP;
  const runner = await startRunner({
    ...{ children, sqsEndpoint, accessKeyId: 'test', bootstrap },
    onEvent: (event) => events.push(event),
  });
  let builds = 0;
  const fixture: RunnerFixture = {
    runner,
    events,
    lines: () => events.filter(({ stream }) => stream === 'stdout').map(({ message }) => message),
    async build(name, source, spec = {}) {
      builds += 1;
      const bundle = join(folder, `${name}-${builds}.mjs`);
      await writeFile(bundle, source);
      return { name, bundle, timeoutSeconds: 5, memoryMb: 256, environment: {}, ...spec };
    },
    async add(name, source, spec) {
      runner.addFunction(await fixture.build(name, source, spec));
    },
    async close() {
      await runner.close({ graceMs: 0 });
      await children.close();
      await rm(folder, { recursive: true });
    },
  };
  return fixture;
}

/** Source of a bundle whose handler has this body; `event` and `context` are in scope. */
export const handler = (body: string): string => `export async function handler(event, context) { ${body} }`;

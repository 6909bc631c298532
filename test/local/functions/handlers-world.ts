import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Variables } from '../../../core/handler/variables.ts';
import { openHandlers } from '../../../local/functions/deployed-handlers.ts';
import type { BundledHandler, ReadFile, ReadingHandlers } from '../../../local/functions/handler-bundles.ts';
import type { FunctionSpec } from '../../../local/lambda/specs.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

export const BROKEN = 'functions/handlers/b.ts:3: SettingError: b: retry: expected a policy';

type Files = Readonly<Record<string, ReadFile | Promise<ReadFile>>>;

/** Opens a database, and handlers on a runner and an SQS that accept everything. */
export async function openHandlersWorld() {
  const engine = await openDatabaseEngine();
  const open = async (variables: () => Variables = () => ({})) => {
    const project = await temporaryFolder();
    const bundle = join(project, 'index.mjs');
    await writeFile(bundle, '');
    const lines: string[] = [];
    const specs: FunctionSpec[] = [];
    const inApi: string[][] = [];
    const stop = new AbortController();
    const api = async (handlers: readonly BundledHandler[]) => void inApi.push(handlers.map(({ name }) => name));
    const handlers = openHandlers({
      ...{ project, retryFactor: 1, db: engine.db, stop: stop.signal },
      settings: async () => ({ environment: { SMTP_URL: 'smtp://x' }, variables: variables() }),
      bundling: { again: () => Promise.reject(new Error('not used')), api },
      api: { deploy: async () => undefined },
      runner: {
        addFunction: (spec: FunctionSpec) => specs.push(spec),
        replaceFunction: (spec: FunctionSpec) => specs.push(spec),
        addMapping() {},
        removeFunction() {},
      } as never,
      sqs: { send: async () => ({ QueueUrl: 'http://sqs/q', Attributes: { QueueArn: 'arn:aws:sqs:x:0:q' } }) } as never,
      printLine: (line) => lines.push(line),
    });
    const handler = (name: string, more: Partial<BundledHandler> = {}): BundledHandler => {
      const definition = { ...engine.definition, jobType: name };
      return { definition, bundle, name, file: bundle, functionName: `millrace-local-${name}`, isNew: true, ...more };
    };
    const unchanged = (name: string) => handler(name, { isNew: false });
    /** A version of the handler with other code. */
    const changed = async (name: string) => {
      const other = join(project, `${name}.mjs`);
      await writeFile(other, '1');
      return handler(name, { bundle: other });
    };
    const sync = (files: Files) => handlers.sync(undefined, readingOf(files));
    return { handlers, lines, specs, inApi, stop, handler, unchanged, changed, sync };
  };
  const registered = async (): Promise<string[]> => {
    const rows = await engine.sql<{ job_type: string }>('select job_type from millrace.handlers order by 1');
    return rows.map((row) => row.job_type);
  };
  return { engine, open, registered };
}

function readingOf(files: Files): ReadingHandlers {
  const entries = Object.entries(files).map(([name, file]) => [name, Promise.resolve(file)] as const);
  return { files: new Map(entries), misplaced: [] };
}

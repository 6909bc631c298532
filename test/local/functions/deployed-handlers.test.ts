import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { HandlerDefinition } from '../../../core/handler/handler.ts';
import { openHandlers } from '../../../local/functions/deployed-handlers.ts';
import type { BundledHandler, HandlerBundles } from '../../../local/functions/handler-bundles.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const engine = await openDatabaseEngine();
const BROKEN = 'functions/handlers/b.ts:3: SettingError: b: retry: expected a policy';

/** Handlers on a runner and an SQS that accept everything. */
async function open() {
  const project = await temporaryFolder();
  const bundle = join(project, 'index.mjs');
  await writeFile(bundle, '');
  const lines: string[] = [];
  const handlers = openHandlers({
    ...{ project, environment: async () => ({}), retryFactor: 1, db: engine.db },
    bundle: () => Promise.reject(new Error('not used')),
    runner: { addFunction() {}, addMapping() {}, removeFunction() {}, replaceFunction() {} } as never,
    sqs: { send: async () => ({ QueueUrl: 'http://sqs/q', Attributes: { QueueArn: 'arn:aws:sqs:x:0:q' } }) } as never,
    printLine: (line) => lines.push(line),
  });
  const bundled = (names: readonly string[], complaints: readonly string[]): HandlerBundles => ({
    handlers: names.map((jobType) => bundledHandler({ ...engine.definition, jobType }, bundle)),
    complaints,
    present: new Set(['a', 'b', 'c']),
  });
  return { handlers, lines, bundled };
}

function bundledHandler(definition: HandlerDefinition, bundle: string): BundledHandler {
  return {
    definition,
    bundle,
    name: definition.jobType,
    file: bundle,
    functionName: `millrace-local-${definition.jobType}`,
  };
}

async function registered(): Promise<string[]> {
  const rows = await engine.sql<{ job_type: string }>('select job_type from millrace.handlers order by 1');
  return rows.map((row) => row.job_type);
}

it('registers a file that was saved beside a broken one, and forgets the complaint when that one is good', async () => {
  const { handlers, lines, bundled } = await open();

  await handlers.sync(bundled(['a'], [BROKEN]));
  expect(await registered()).toEqual(['a']);
  expect(handlers.complaints()).toEqual([BROKEN]);

  await handlers.sync(bundled(['a', 'c'], [BROKEN]));
  expect(await registered()).toEqual(['a', 'c']);

  await handlers.sync(bundled(['a', 'b', 'c'], []));
  expect(await registered()).toEqual(['a', 'b', 'c']);
  expect(handlers.complaints()).toEqual([]);
  expect(lines).toEqual([BROKEN, 'c was added', 'b was added']);
});

it('keeps the last good version of a file that is broken now', async () => {
  const { handlers, bundled } = await open();
  await handlers.sync(bundled(['a', 'b'], []));

  await handlers.sync(bundled(['a'], [BROKEN]));

  expect(await registered()).toEqual(['a', 'b']);
  expect(handlers.list().map(({ definition }) => definition.jobType)).toEqual(['a', 'b']);
});

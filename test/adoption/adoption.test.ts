import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Children, openChildren } from '../../local/processes/children.ts';
import { commandLines, type Document, readDocument } from '../docs/documents.ts';
import { execute, makeForeignProject, npm, type Packed, packAll } from '../packages/packed.ts';
import { type Cloud, startMiniStack } from '../rehearsal/ministack.ts';
import { type SecureDatabase, startSecureDatabase } from '../rehearsal/postgres.ts';
import { createSecrets } from '../rehearsal/shared-account.ts';
import { eventually } from '../support/eventually.ts';

const REHEARSAL = resolve(import.meta.dirname, '../rehearsal');
const MANIFEST = createRequire(import.meta.url)('../../package.json');
const PAGE = readDocument('docs/adopt.md');
const SOURCES = sourcesOf(PAGE);
const QUIET = ['--no-audit', '--no-fund', '--prefer-offline'];

/** The app that \`init\` writes, and the workarounds for the emulator of AWS. */
const APP = `
import { App } from 'aws-cdk-lib';
import { MillraceStack } from 'millrace/cdk';
import { avoidFaults } from './emulator-faults.ts';

avoidFaults(new MillraceStack(new App()));
`;
/** A part of the stack of another app. It prints the handlers that it deploys. */
const PART = `
import { App, Stack } from 'aws-cdk-lib';
import { Millrace } from 'millrace/cdk';

const millrace = new Millrace(new Stack(new App(), 'Shop'), 'Jobs', { stage: 'shop' });
process.stdout.write(millrace.handlers.map(({ plan }) => plan.name).join(' '));
`;
const CALLERS = {
  'caller.mjs': `import { defineHandler } from 'millrace';\nprocess.stdout.write(typeof defineHandler);`,
  'caller.cjs': `const { defineHandler } = require('millrace');\nprocess.stdout.write(typeof defineHandler);`,
};

let packed: Packed;
let project: string;
let children: Children;
let cloud: Cloud;
let database: SecureDatabase;

/** Returns the sources that a page shows, by their names. */
function sourcesOf({ blocks }: Document): Record<string, string> {
  return Object.fromEntries(
    blocks.flatMap(({ code }) => {
      const [, name] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
      return name === undefined ? [] : [[name, code]];
    }),
  );
}

const inProject = (program: string, args: readonly string[], variables = {}) =>
  execute(project, join(project, 'node_modules/.bin', program), args, variables);

beforeAll(async () => {
  packed = await packAll(['millrace', 'millrace-dev']);
  project = join(packed.folder, 'shop');
  await mkdir(project);
  children = openChildren();
});

afterAll(async () => {
  cloud?.close();
  await children?.close();
  await packed?.remove();
});

it('follows the commands of the page, in their order', () => {
  expect(commandLines(PAGE)).toEqual([
    ...['npm install millrace', 'npm install --save-dev millrace-dev', 'npx millrace init', 'npm install'],
    ...['npx millrace dev', `npx millrace enqueue say_hello '{"name": "Ada"}' --watch`, 'npm test'],
    `npx millrace enqueue send_invoice '{"cents": 512}' --watch`,
    ...['npm install --save-dev aws-cdk aws-cdk-lib constructs', 'npx cdk deploy -c stage=dev'],
  ]);
});

it('init writes a first handler into an empty folder, and its test passes', async () => {
  const files = [packed.files.millrace ?? '', packed.files['millrace-dev'] ?? ''];
  expect(await npm(project, 'install', ...QUIET, ...files)).toMatchObject({ code: 0 });
  const initialised = await inProject('millrace', ['init']);
  expect(initialised.stdout).toContain('wrote    jobs/say-hello.ts');
  expect(await npm(project, 'install', ...QUIET)).toMatchObject({ code: 0 });

  const tested = await npm(project, 'test');

  expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining('greets by name') });
});

it('a test opens a database in the Postgres of millrace-dev', async () => {
  // Not in the folder of the handlers that the next steps deploy.
  await makeForeignProject(join(project, 'tested'), sourcesOf(readDocument('docs/testing.md')));

  const tested = await execute(project, process.execPath, ['--test', 'tested/src/place-order.test.ts']);

  expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining('a charge is tried three times') });
});

it('dev runs the first handler, and one that imports a module of the project', async () => {
  expect(Object.keys(SOURCES)).toEqual(['src/price.ts', 'jobs/send-invoice.ts']);
  await makeForeignProject(project, SOURCES);
  const stack = spawn('npm', ['run', 'dev'], { cwd: project, detached: true });
  const output = await untilStarted(stack);

  const hello = await inProject('millrace', ['enqueue', 'say_hello', '{"name": "Ada"}', '--watch', '--json']);
  const invoice = await inProject('millrace', ['enqueue', 'send_invoice', '{"cents": 512}', '--watch', '--json']);
  const ended = once(stack, 'exit');
  process.kill(-Number(stack.pid), 'SIGINT');
  await ended;

  expect(JSON.parse(hello.stdout)).toMatchObject({ status: 'succeeded', result: { greeting: 'Hello Ada' } });
  expect(JSON.parse(invoice.stdout)).toMatchObject({ status: 'succeeded', result: { price: '5.12 EUR' } });
  expect(output()).toContain('stopped');
});

async function untilStarted(stack: ChildProcess): Promise<() => string> {
  let output = '';
  for (const stream of [stack.stdout, stack.stderr]) stream?.on('data', (text) => (output += text));
  await eventually(() => expect(output).toContain('Ctrl-C lets running jobs finish'), { timeout: 120_000 });
  return () => output;
}

it('cdk deploys the project, and the deployed handler runs a job', async () => {
  await npm(project, 'install', ...QUIET, '--save-dev', ...versionsOf('aws-cdk', 'aws-cdk-lib', 'constructs'));
  await copyFile(join(REHEARSAL, 'emulator-faults.ts'), join(project, 'emulator-faults.ts'));
  await writeFile(join(project, 'cdk.mjs'), APP);
  database = await startSecureDatabase(children, packed.folder);
  cloud = await startMiniStack(children, packed.folder);
  const secrets = await createSecrets(cloud, database);
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x86_64';
  const context = Object.entries({ stage: 'dev', architecture, ...secrets.context });
  const options = context.flatMap(([name, value]) => ['-c', `${name}=${value}`]);

  const bootstrapped = await inProject('cdk', ['bootstrap', cloud.account, ...options], cloud.environment);
  const deployed = await inProject('cdk', ['deploy', '--require-approval=never', ...options], cloud.environment);

  expect(bootstrapped).toMatchObject({ code: 0 });
  expect(deployed).toMatchObject({ code: 0, stdout: expect.stringContaining('✅  millrace-dev') });
  expect(await runDeployed('send_invoice', { cents: 512 })).toEqual({ price: '5.12 EUR' });
});

/** Inserts a job, waits until it has succeeded, and returns its result. */
async function runDeployed(jobType: string, payload: object): Promise<unknown> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const { rows } = await client.query('select id from millrace.enqueue($1, $2)', [jobType, payload]);
    return await eventually(
      async () => {
        const text = 'select status, result, last_error from millrace.jobs where id = $1';
        const [job] = (await client.query(text, [rows[0].id])).rows;
        expect(job, (await cloud.log()).slice(-5_000)).toMatchObject({ status: 'succeeded' });
        return job.result;
      },
      { timeout: 200_000, interval: 500 },
    );
  } finally {
    await client.end();
  }
}

// The oldest releases whose `require` loads ES modules.
it.runIf(process.platform === 'linux').each(['20.19.0', '22.12.0'])(
  'applications on Node %s load the package, and synthesise their handlers',
  async (version) => {
    const folder = join(packed.folder, version);
    await makeForeignProject(folder, { 'package.json': '{"private":true}', ...CALLERS });
    const older = `node-linux-${process.arch}@${version}`;
    expect(await npm(folder, 'install', ...QUIET, packed.files.millrace ?? '', older)).toMatchObject({ code: 0 });
    const node = join(folder, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');

    await writeFile(join(project, 'part.mjs'), PART);

    const loaded = await Promise.all(Object.keys(CALLERS).map((file) => execute(folder, node, [file])));

    const synthesised = await execute(project, node, ['part.mjs'], { CDK_OUTDIR: join(folder, 'out') });

    expect(loaded.map(({ stdout }) => stdout)).toEqual(['function', 'function']);
    expect(synthesised).toMatchObject({ code: 0, stdout: 'say_hello send_invoice' });
  },
);

function versionsOf(...names: readonly string[]): string[] {
  return names.map((name) => `${name}@${MANIFEST.devDependencies[name]}`);
}

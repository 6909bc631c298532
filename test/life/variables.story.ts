import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { launch, makeProject, whenUp } from '../support/project.ts';
import { insertJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

const FAILS = { 'fails.ts': handlerSource('fails', `throw new Error('no');`) };

async function makeFailing(dotEnv: string) {
  const project = await makeProject(FAILS);
  onTestFinished(() => project.remove());
  const path = join(project.folder, '.env');
  await writeFile(path, dotEnv, { mode: 0o600 });
  return { project, path };
}

it('a stack applies the variables of its own environment and of .env, and doctor compares with them', async () => {
  const { project, path } = await makeFailing('MILLRACE_MAX_ATTEMPTS=4\nMILLRACE_RETRY_DELAY_fails=0\nRETRY_DELAY=7\n');
  const env = { MILLRACE_MAX_ATTEMPTS: '2', MILLRACE_JOB_TIMEOUT: '45.0', MILLRACE_MAX_ATEMPTS: '3' };
  const stack = await whenUp(project, launch(project, [], { env }));
  const first = await insertJob(stack, 'fails', {});

  await untilJob(stack, first, { status: 'dead_letter', attempts: 2 });
  const handlers = await project.millrace('handlers');
  const doctor = await project.millrace('doctor', '--json');
  await writeFile(path, 'MILLRACE_MAX_ATTEMPTS_fails=3\nMILLRACE_RETRY_DELAY_fails=0\n');
  await eventually(() => expect(stack.output()).toContain('fails was reloaded'), { timeout: 60_000 });
  const second = await insertJob(stack, 'fails', {});
  await untilJob(stack, second, { status: 'dead_letter', attempts: 3 });

  expect(stack.output()).toContain('RETRY_DELAY has no effect: set MILLRACE_RETRY_DELAY\n');
  expect(stack.output()).toContain('MILLRACE_MAX_ATEMPTS has no effect; did you mean MILLRACE_MAX_ATTEMPTS?\n');
  expect(handlers.stdout).toMatch(/\b45 s?/);
  const { checks } = JSON.parse(doctor.stdout) as { checks: { check: string; ok: boolean; detail: string }[] };
  const compared = checks.filter(({ check }) => ['registry', 'functions', 'queues'].includes(check));
  expect(compared.map(({ check, ok }) => [check, ok])).toEqual([
    ['registry', true],
    ['queues', true],
    ['functions', true],
  ]);
  await writeFile(path, 'MILLRACE_RETRY_DELAY_fails=soon\n');
  const refused = 'reload failed: MILLRACE_RETRY_DELAY_fails: expected a duration';
  await eventually(() => expect(stack.output()).toContain(refused), { timeout: 60_000 });
  expect(await stack.stop()).toBe(0);
});

it('a stack does not start with an invalid value, and prints the name of its variable', async () => {
  const { project } = await makeFailing('MILLRACE_RETRY_DELAY=5\nMILLRACE_RETRY_BASE_DELAY=5\n');

  const ended = launch(project);

  expect(await ended.exited).toBe(2);
  expect(ended.output()).toContain(
    'MILLRACE_RETRY_DELAY: expected no value, since MILLRACE_RETRY_BASE_DELAY is set: a policy is either fixed or ' +
      'exponential, got "5"',
  );
});

it('the dispatcher of a stack applies MILLRACE_CLAIM_LIMIT of .env', async () => {
  const { project } = await makeFailing('MILLRACE_CLAIM_LIMIT=2\n');
  const stack = await whenUp(project, launch(project));
  await project.millrace('sql', `insert into millrace.jobs (job_type) select 'fails' from generate_series(1, 5)`);
  const count = 'select count(*) from millrace.jobs where attempts > 0';
  await eventually(async () => expect((await project.millrace('sql', count)).stdout).toContain('5'));

  const { stdout } = await project.millrace('sql', 'select max(claimed_count) from millrace.dispatches');

  expect(stdout).toContain('2');
  expect(await stack.stop()).toBe(0);
});

const NAMED = `
import { z } from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';

export default defineHandler({
  jobType: 'named',
  payload: z.unknown(),
  settings: { GREETING_TO: 'required', GREETING_WORD: { default: 'hello' } },
  secrets: ['GREETING_TOKEN'],
  maxAttempts: 1,
  async run({ settings, secrets, log }) {
    log.info('greeting', { secrets });
    throw new Error([settings.GREETING_WORD, settings.GREETING_TO, secrets.GREETING_TOKEN].join(' '));
  },
});
`;

it('a stack starts without a handler that lacks a setting or a secret, and deploys it when .env has both', async () => {
  const project = await makeProject({ 'named.ts': NAMED, 'works.ts': handlerSource('works', 'return 1;') });
  onTestFinished(() => project.remove());
  const path = join(project.folder, '.env');
  await writeFile(path, 'GREETING_WORD=hi\n', { mode: 0o600 });
  const stack = await whenUp(project, launch(project, [], { env: { GREETING_TO: 'Ada' } }));
  const jobTypes = async () =>
    (await stack.query('select job_type from millrace.handlers order by 1')).map(Object.values);

  const lacks = 'secrets.GREETING_TOKEN: expected GREETING_TOKEN=… in .env or in the environment, got nothing';
  expect(stack.output()).toContain(`functions/handlers/named.ts: ${lacks}\n`);
  expect(await jobTypes()).toEqual([['works']]);
  await writeFile(path, 'GREETING_TOKEN=of-the-greeting\n');
  await eventually(async () => expect(await jobTypes()).toEqual([['named'], ['works']]), { timeout: 60_000 });
  const id = await insertJob(stack, 'named', {});

  await untilJob(stack, id, { status: 'dead_letter', last_error: 'hello Ada ***' });
  expect(stack.output()).toContain('greeting');
  expect(stack.output()).not.toContain('of-the-greeting');
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ListEventSourceMappingsCommand } from '@aws-sdk/client-lambda';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readMails } from '../../local/mailbox/mails.ts';
import { eventually } from '../support/eventually.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import {
  enableMapping,
  findDeadMessage,
  insertJob,
  nudge,
  openLambda,
  readDeadLetters,
  readJob,
  untilJob,
} from '../support/stack-doors.ts';

const REMINDER = { to: 'ada@example.com', subject: 'Hello', text: 'A reminder' };

let project: Project;
let stack: RunningStack;

beforeAll(async () => {
  project = await makeProject();
  stack = await startUp(project, ['--fresh']);
});

afterAll(() => project.remove());

it('npm start prints its addresses and the next commands', () => {
  const { databaseUrl, sqsEndpoint } = stack.state;
  const shown = databaseUrl.replace(/:[^:@]+@/, '@');

  expect(stack.output()).toContain(` ${shown} `);
  expect(stack.output()).toContain(sqsEndpoint);
  expect(stack.output()).toContain('make_thumbnail, send_reminder');
  expect(stack.output()).toContain('npx millrace jobs list --status dead_letter');
});

it('the sample jobs succeed, succeed after a retry, and die', async () => {
  await untilJob(stack, '1', { status: 'succeeded', attempts: 1 });
  await untilJob(stack, '2', { status: 'succeeded', attempts: 1 });
  await untilJob(stack, '3', { status: 'failed', attempts: 1 });
  await untilJob(stack, '4', { status: 'dead_letter', attempts: 1 });
  await untilJob(stack, '3', { status: 'succeeded', attempts: 2 });

  expect(await readMails(stack.state.mailFolder)).toHaveLength(1);
  const thumbnail = await readFile(join(project.folder, '.millrace/files/samples/late-small.jpg'));
  expect(await sharp(thumbnail).metadata()).toMatchObject({ width: 160, format: 'jpeg' });
});

it('the dead sample is in the dead-letter queue and in the table, with the line that threw', async () => {
  const message = await findDeadMessage(stack, 'make_thumbnail', '4');
  const rows = await readDeadLetters(stack, '4');

  expect(message.Attributes?.DeadLetterQueueSourceArn).toMatch(/:millrace-local-make_thumbnail$/);
  expect(rows).toMatchObject([{ status: 'open' }]);
  expect(rows[0]?.last_error).toContain('404');
  expect(rows[0]?.error_stacktrace).toMatch(/functions\/web-files\.ts:\d+/);
  expect(rows[0]?.error_stacktrace).toMatch(/functions\/handlers\/make-thumbnail\.ts:\d+/);
});

it('a job that millrace sql inserts runs', async () => {
  const sql = `insert into millrace.jobs (job_type, payload) values ('send_reminder', '${JSON.stringify(REMINDER)}')`;
  const { code, stdout } = await project.millrace('sql', `${sql} returning id`);

  expect(code).toBe(0);
  await untilJob(stack, stdout.trim(), { status: 'succeeded', attempts: 1 });
});

it('a job that millrace enqueue inserts runs, and millrace jobs show prints it', async () => {
  const enqueued = await project.millrace('enqueue', 'send_reminder', JSON.stringify(REMINDER), '--json');
  const id: string = JSON.parse(enqueued.stdout).id;
  await untilJob(stack, id, { status: 'succeeded' });

  const shown = await project.millrace('jobs', 'show', id);

  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(/succeeded/);
});

it('WEB-05 the error of an invalid payload omits its values', async () => {
  const id = await insertJob(stack, 'send_reminder', { ...REMINDER, to: 'hunter2', password: 'hunter2' });

  const { last_error } = await untilJob(stack, id, { status: 'dead_letter' });

  expect(last_error).toContain('to');
  expect(`${last_error}${stack.output()}`).not.toContain('hunter2');
});

it('a reminder waits a minute after its first failure while the mailbox is stopped', async () => {
  await project.millrace('mail', 'stop');
  const id = await insertJob(stack, 'send_reminder', REMINDER);

  await untilJob(stack, id, { status: 'failed', attempts: 1 });

  const [row] = await stack.query<{ delay: number }>(
    `select extract(epoch from next_retry_at - updated_at)::float as delay from millrace.jobs where id = $1`,
    [id],
  );
  expect(row?.delay).toBeGreaterThan(53);
  expect(row?.delay).toBeLessThan(67);
  await project.millrace('mail', 'start');
  await project.millrace('jobs', 'cancel', id, '--yes');
});

it('ten jobs that are inserted at once run', async () => {
  const ids = await Promise.all(
    Array.from({ length: 10 }, (_, index) => insertJob(stack, 'send_reminder', { ...REMINDER, subject: `${index}` })),
  );

  for (const id of ids) await untilJob(stack, id, { status: 'succeeded', attempts: 1 });
});

it('a job of a paused handler is not claimed, and runs after the pause', async () => {
  await stack.query(`update millrace.handlers set paused_at = millrace.clock() where job_type = 'send_reminder'`);
  const id = await insertJob(stack, 'send_reminder', REMINDER);
  await nudge(stack);
  await nudge(stack);
  const paused = await readJob(stack, id);
  await stack.query(`update millrace.handlers set paused_at = null where job_type = 'send_reminder'`);

  await untilJob(stack, id, { status: 'succeeded' });
  expect(paused).toMatchObject({ status: 'pending', attempts: 0 });
});

it('a disabled mapping receives no messages', async () => {
  await enableMapping(stack, 'send_reminder', false);
  await eventually(async () => expect(await mappingState()).toBe('Disabled'));
  const id = await insertJob(stack, 'send_reminder', REMINDER);
  await nudge(stack);
  const waiting = await untilJob(stack, id, { status: 'dispatched' });
  await enableMapping(stack, 'send_reminder', true);

  await untilJob(stack, id, { status: 'succeeded', attempts: 1 });
  expect(waiting.attempts).toBe(0);
});

async function mappingState(): Promise<string> {
  const lambda = openLambda(stack);
  const { EventSourceMappings } = await lambda.send(new ListEventSourceMappingsCommand({}));
  lambda.destroy();
  return EventSourceMappings?.find(({ FunctionArn }) => FunctionArn?.includes('send_reminder'))?.State ?? '';
}

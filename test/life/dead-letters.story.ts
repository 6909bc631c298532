import { afterAll, beforeAll, expect, it } from 'vitest';
import { countDeadMessages, redriveBySqs } from '../support/move-tasks.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { findDeadMessage, insertJob, mirrorNow, readDeadLetters, readJob, untilJob } from '../support/stack-doors.ts';

const PATIENCE_MS = 600_000;

let project: Project;
let stack: RunningStack;
let byMoveTask: string;
let byCommand: string;

beforeAll(async () => {
  project = await makeProject();
  stack = await startUp(project, ['--fast-retries']);
});

afterAll(() => project.remove());

it(
  'a reminder that the mailbox refuses on every attempt shows up in SQL, in the command and in an SQS client',
  async () => {
    byMoveTask = await failReminder('move task');

    const rows = await stack.query(`select job_id::text as id, attempts, last_error, input_data ->> 'subject' as subject
      from millrace.failed_jobs where job_type = 'send_reminder'`);
    const command = await project.millrace('dlq', 'list', '--job-type', 'send_reminder', '--json');
    const message = await findDeadMessage(stack, 'send_reminder', byMoveTask);

    const reason = expect.stringMatching(/mailbox is stopped/);
    expect(rows).toEqual([{ id: byMoveTask, attempts: 2, last_error: reason, subject: 'move task' }]);
    expect(JSON.parse(command.stdout).items).toMatchObject([{ job_id: byMoveTask, attempts: 2, last_error: reason }]);
    expect(message.Attributes?.DeadLetterQueueSourceArn).toMatch(/:millrace-local-send_reminder$/);
  },
  PATIENCE_MS,
);

it(
  'a move task without a destination sends the reminder once after the mailbox starts again',
  async () => {
    await millrace('mail', 'start');

    const moved = await redriveBySqs(stack, 'send_reminder');
    await untilJob(stack, byMoveTask, { status: 'succeeded', attempts: 1 });

    expect(moved).toBeGreaterThanOrEqual(1);
    expect(await readSubjects()).toEqual(['move task']);
    expect(await readDeadLetters(stack, byMoveTask)).toMatchObject([{ status: 'redriven' }]);
  },
  PATIENCE_MS,
);

it(
  'the redrive command sends another reminder once',
  async () => {
    byCommand = await failReminder('command');
    await millrace('mail', 'start');

    const answer = JSON.parse(await millrace('redrive', byCommand, '--yes', '--json'));
    await untilJob(stack, byCommand, { status: 'succeeded', attempts: 1 });

    expect(answer).toMatchObject({ moved: 1, skipped: 0 });
    expect(await readSubjects()).toEqual(['command', 'move task']);
    expect(await readDeadLetters(stack, byCommand)).toMatchObject([{ status: 'redriven' }]);
  },
  PATIENCE_MS,
);

it(
  'a second redrive of both reminders, by move task and command, changes nothing',
  async () => {
    const jobs = () => Promise.all([byMoveTask, byCommand].map((id) => readJob(stack, id)));
    const before = await jobs();

    await redriveBySqs(stack, 'send_reminder');
    const again = await project.millrace('redrive', byMoveTask, byCommand, '--yes', '--json');
    await mirrorNow(stack);
    const later = await insertReminder('later');
    await untilJob(stack, later, { status: 'succeeded' });

    expect(again.code).toBe(5);
    expect(JSON.parse(again.stdout)).toMatchObject({
      moved: 0,
      skipped_jobs: [byMoveTask, byCommand].map((id) => ({ id, reason: 'has already succeeded' })),
    });
    expect(await jobs()).toEqual(before);
    expect(await readSubjects()).toEqual(['command', 'later', 'move task']);
    expect(await countDeadMessages(stack, 'send_reminder')).toBe(0);
    expect(await stack.query(`select from millrace.failed_jobs where job_type = 'send_reminder'`)).toEqual([]);
  },
  PATIENCE_MS,
);

const RECIPIENT = 'dead@example.com';

function insertReminder(subject: string, maxAttempts?: number): Promise<string> {
  return insertJob(stack, 'send_reminder', { to: RECIPIENT, subject, text: 'once' }, maxAttempts);
}

/** Enqueues a reminder that dies while the mailbox is stopped; returns its id when its message is in the DLQ. */
async function failReminder(subject: string): Promise<string> {
  await millrace('mail', 'stop');
  const id = await insertReminder(subject, 2);
  await untilJob(stack, id, { status: 'dead_letter', attempts: 2 });
  await findDeadMessage(stack, 'send_reminder', id);
  return id;
}

async function millrace(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await project.millrace(...args);
  expect(code, stderr).toBe(0);
  return stdout;
}

/** Returns the subjects of the accepted emails. */
async function readSubjects(): Promise<string[]> {
  const { items } = JSON.parse(await millrace('mail', '--json')) as { items: { to: string[]; subject: string }[] };
  return items.flatMap(({ to, subject }) => (to.includes(RECIPIENT) ? subject : [])).sort();
}

import { afterAll, beforeAll, expect, it } from 'vitest';
import { readMails } from '../../local/mailbox/mails.ts';
import { redriveBySqs } from '../support/move-tasks.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { findDeadMessage, insertJob, readDeadLetters, readJob, untilJob } from '../support/stack-doors.ts';

const PATIENCE_MS = 600_000;

let project: Project;
let stack: RunningStack;
let byRetry: string;
let byConsole: string;

beforeAll(async () => {
  project = await makeProject();
  stack = await startUp(project, ['--fast-retries']);
  await project.millrace('mail', 'stop');
});

afterAll(() => project.remove());

it('npm start --fast-retries prints that delays are divided by 60', () => {
  expect(stack.output()).toMatch(/every delay is divided by 60/);
});

it(
  'a reminder dies while the mailbox is stopped, with its reason and with its message in the dead-letter queue',
  async () => {
    [byRetry, byConsole] = (await Promise.all(
      ['by retry', 'by console'].map((subject) => insertJob(stack, 'send_reminder', mail(subject), 2)),
    )) as [string, string];

    for (const id of [byRetry, byConsole]) {
      await untilJob(stack, id, { status: 'dead_letter', attempts: 2 }, 30_000);
      const message = await findDeadMessage(stack, 'send_reminder', id);
      const [letter, ...others] = await readDeadLetters(stack, id);
      expect(message.Attributes?.DeadLetterQueueSourceArn).toMatch(/:millrace-local-send_reminder$/);
      expect(letter).toMatchObject({ status: 'open', last_error: expect.stringContaining('421') });
      expect(letter?.error_stacktrace).toMatch(/\n +at .+:\d+:\d+/);
      expect(others).toEqual([]);
    }
  },
  PATIENCE_MS,
);

it(
  'millrace.retry runs a dead job again, which sends its mail once',
  async () => {
    await project.millrace('mail', 'start');
    const { code } = await project.millrace('sql', `select millrace.retry(${byRetry})`);
    expect(code).toBe(0);

    await untilJob(stack, byRetry, { status: 'succeeded', attempts: 1 });

    expect(await subjects()).toEqual(['by retry']);
    expect(await readDeadLetters(stack, byRetry)).toMatchObject([{ status: 'redriven' }]);
    expect(await readJob(stack, byConsole)).toMatchObject({ status: 'dead_letter' });
  },
  PATIENCE_MS,
);

it(
  'a redrive in the SQS console runs the other dead job, and no job twice',
  async () => {
    const moved = await redriveBySqs(stack, 'send_reminder');

    await untilJob(stack, byConsole, { status: 'succeeded', attempts: 1 });

    expect(moved).toBe(2);
    expect(await readDeadLetters(stack, byConsole)).toMatchObject([{ status: 'redriven' }]);
    expect(await subjects()).toEqual(['by console', 'by retry']);
    expect(await readJob(stack, byRetry)).toMatchObject({ status: 'succeeded', attempts: 1 });
  },
  PATIENCE_MS,
);

function mail(subject: string) {
  return { to: 'ada@example.com', subject, text: 'A reminder' };
}

async function subjects(): Promise<string[]> {
  const mails = await readMails(stack.state.mailFolder);
  return mails
    .map(({ subject }) => subject)
    .filter((subject) => subject.startsWith('by '))
    .sort();
}

import { afterEach, expect, it } from 'vitest';
import { readMails } from '../../local/mailbox/mails.ts';
import { makeProject, type Project, startUp } from '../support/project.ts';
import { findDeadMessage, insertJob, readDeadLetters, untilJob } from '../support/stack-doors.ts';

const REMINDER = { to: 'ada@example.com', subject: 'after the outage', text: 'A reminder' };

let project: Project;

afterEach(() => project.remove());

it('a reminder is sent once, a minute after its first failure', async () => {
  project = await makeProject();
  const stack = await startUp(project);
  await project.millrace('mail', 'stop');
  const id = await insertJob(stack, 'send_reminder', REMINDER);
  await untilJob(stack, id, { status: 'failed', attempts: 1 });
  await project.millrace('mail', 'start');

  await untilJob(stack, id, { status: 'succeeded', attempts: 2 }, 300_000);

  const [row] = await stack.query<{ waited: number }>(
    `select extract(epoch from started_at - created_at)::float as waited from millrace.jobs where id = $1`,
    [id],
  );
  expect(row?.waited).toBeGreaterThan(53);
  const mails = await readMails(stack.state.mailFolder);
  expect(mails.filter(({ subject }) => subject === REMINDER.subject)).toHaveLength(1);
});

it('a reminder whose mailbox stays stopped fails five times, dies, and succeeds after millrace.retry', async () => {
  project = await makeProject();
  const stack = await startUp(project, ['--fast-retries']);
  await project.millrace('mail', 'stop');
  const id = await insertJob(stack, 'send_reminder', REMINDER);

  await untilJob(stack, id, { status: 'dead_letter', attempts: 5 }, 300_000);

  const message = await findDeadMessage(stack, 'send_reminder', id);
  expect(message.Attributes?.DeadLetterQueueSourceArn).toMatch(/:millrace-local-send_reminder$/);
  expect(await readDeadLetters(stack, id)).toMatchObject([{ status: 'open' }]);
  await project.millrace('mail', 'start');
  await stack.query('select millrace.retry($1)', [id]);
  await untilJob(stack, id, { status: 'succeeded', attempts: 1 });
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { countDeadMessages } from '../support/move-tasks.ts';
import { mirrorNow } from '../support/stack-doors.ts';
import { discards, isMoveTask, looks, others, redrives, script, settings, walk } from './dead-letter-lines.ts';
import { openTerminal, type Terminal } from './terminal.ts';

const JOB = `'{"to": "ada@example.com", "subject": "Hello", "text": "Again and again"}'`;
const PATIENCE = { interval: 100 };

let terminal: Terminal;

beforeAll(async () => {
  terminal = await openTerminal();
  await writeFile(join(terminal.project.folder, 'sqs.mjs'), script);
});
afterAll(() => terminal?.close());

/** Runs the lines in order. A line that watches a job which dies has exit code 1. */
async function typeAll(lines: readonly string[]) {
  const typed = [];
  for (const line of lines) typed.push(await terminal.attempt(line));
  return typed;
}

async function statusOf(id: string): Promise<string | undefined> {
  const [job] = await terminal.stack.query<{ status: string }>('select status from millrace.jobs where id = $1', [id]);
  return job?.status;
}

async function remindersOf(name: string) {
  return terminal.stack.query(
    `select status, attempts from millrace.jobs
       where job_type = 'send_reminder' and payload ->> 'to' = $1 order by id`,
    [`${name}@example.com`],
  );
}

/** Returns the number of emails to a recipient that `npx millrace mail` lists. */
async function mailsTo(name: string): Promise<number> {
  const listed = await terminal.type('npx millrace mail');
  return listed.split('\n').filter((line) => line.includes(`\t${name}@example.com\t`)).length;
}

it('the dead letter of a stopped mailbox shows up in SQL, on the command line and in an SQS client', async () => {
  const [stop, enqueue, sql, list, sqs] = await typeAll(walk.breaking);

  expect(walk.breaking).toHaveLength(5);
  expect(stop?.code).toBe(0);
  expect(enqueue).toMatchObject({ code: 1, stdout: expect.stringMatching(/^\d+$/) });
  const id = enqueue?.stdout as string;
  expect(sql?.stdout).toMatch(new RegExp(`^${id}\t1\t.*mailbox is stopped`));
  expect(list?.stdout).toMatch(new RegExp(`^${id}\tsend_reminder\t1/1\t.*mailbox is stopped`));
  expect(sqs?.stdout).toContain(`"job":"${id}"`);
});

it('a move task without a destination runs the job again, which succeeds and sends one email', async () => {
  const typed = await typeAll(walk.mending);
  await eventually(async () => {
    // A task leaves the messages that the mirror has received, so a second task may be necessary.
    if ((await countDeadMessages(terminal.stack, 'send_reminder')) > 0) await terminal.type(walk.mending[1] as string);
    expect(await remindersOf('bob')).toEqual([{ status: 'succeeded', attempts: 1 }]);
  }, PATIENCE);

  expect(walk.mending).toHaveLength(4);
  expect(typed.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(await mailsTo('bob')).toBe(1);
});

it('npx millrace redrive runs another job again, and a repetition of both redrives changes nothing', async () => {
  const typed = await typeAll(walk.again);
  await eventually(
    async () => expect(await remindersOf('eve')).toEqual([{ status: 'succeeded', attempts: 1 }]),
    PATIENCE,
  );
  await eventually(async () => {
    await mirrorNow(terminal.stack);
    expect(await countDeadMessages(terminal.stack, 'send_reminder')).toBe(0);
  }, PATIENCE);

  // The second redrive finds no dead letter, and prints that.
  expect(typed.map(({ code }) => code)).toEqual([0, 1, 0, 0, 0, 3, 0]);
  expect(typed[5]?.stderr).toContain('error: no dead letter matches');
  expect(await remindersOf('bob')).toEqual([{ status: 'succeeded', attempts: 1 }]);
  expect(await Promise.all([mailsTo('bob'), mailsTo('eve')])).toEqual([1, 1]);
});

it('the commands show and discard the sample job that can never succeed', async () => {
  const [list, show, discard] = await typeAll(walk.giveUp);

  expect(list?.stdout).toMatch(/^4\tmake_thumbnail\tdead_letter/);
  expect(show?.stdout).toMatch(/^stack\t/m);
  expect(discard?.code).toBe(0);
  expect(await statusOf('4')).toBe('cancelled');
});

/** Enqueues the job 42 of the page. The mailbox stays stopped, so the job dies after every redrive. */
async function enqueue42(): Promise<void> {
  await terminal.type('npx millrace mail stop');
  await terminal.stack.query("select setval('millrace.job_ids', 41)");
  await terminal.type(`npx millrace enqueue send_reminder ${JOB} --max-attempts 1`);
}

async function untilDead(): Promise<void> {
  await eventually(async () => {
    const rows = await terminal.stack.query('select from millrace.failed_jobs where job_id = 42 and attempts = 1');
    expect(rows, terminal.stack.output()).toHaveLength(1);
  }, PATIENCE);
}

async function countRedrives(): Promise<number> {
  const text = "select from millrace.dead_letters where job_id = 42 and status = 'redriven'";
  return (await terminal.stack.query(text)).length;
}

function typeOfPage(line: string): Promise<string> {
  return terminal.type([...settings, line].join(' && '));
}

it.each(looks)(
  'this line shows the dead letter: %s',
  async (line) => {
    if (line === looks[0]) await enqueue42();
    await untilDead();

    const printed = await eventually(async () => {
      const output = (await typeOfPage(line)) || (await terminal.type('cat dead.jsonl'));
      // The message may not be in the dead-letter queue yet.
      if (line.startsWith('aws ')) expect(output).toContain('\\"job\\":\\"42\\"');
      return output;
    }, PATIENCE);

    expect(printed).toMatch(/mailbox is stopped|^42\topen\t|send_reminder\t1$|ReceiptHandle/m);
  },
  60_000,
);

it.each(redrives)(
  'this line redrives the job: %s',
  async (line) => {
    await untilDead();
    const before = await countRedrives();

    if (!isMoveTask(line)) await typeOfPage(line);
    await eventually(async () => {
      // Another task after the redrive would redrive the next death too.
      if (isMoveTask(line) && (await countRedrives()) === before) await typeOfPage(line);
      expect(await countRedrives(), terminal.stack.output()).toBe(before + 1);
    }, PATIENCE);

    await untilDead();
  },
  60_000,
);

it.each(others)(
  'this line shows redrives and starts none: %s',
  async (line) => {
    await untilDead();
    const before = await countRedrives();

    const printed = await typeOfPage(line);

    expect(printed).not.toBe('');
    expect(await countRedrives()).toBe(before);
  },
  60_000,
);

it.each(discards)(
  'this line discards the job: %s',
  async (line) => {
    await terminal.stack.query('delete from millrace.jobs_finished where id = 42');
    if ((await statusOf('42')) === undefined) await enqueue42();
    await untilDead();

    await typeOfPage(line);

    expect(await statusOf('42')).toBe('cancelled');
  },
  60_000,
);

it('the tests above cover every redrive command of the page', () => {
  expect(redrives.map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
    ...Array(4).fill('npx millrace redrive'),
    'npx millrace jobs',
    ...Array(2).fill('npx millrace sql'),
    'aws sqs start-message-move-task',
  ]);
  expect(looks.length).toBeGreaterThan(10);
  expect(discards).toHaveLength(2);
});
